/* For tests of corpora: files in the temporary folder, a corpus and its findings, made and freed with each test. */
#ifndef TEST_CORPUS_FIXTURE_H
#define TEST_CORPUS_FIXTURE_H

#include "make_sound.h"

#include <trellis/corpus.h>

static trl_error err;
static trl_findings *findings;
static trl_corpus *corpus;

static inline void put(const char *name, const char *content)
{
    temp_write(name, content, strlen(content));
}

static inline int set_up(void **state)
{
    return temp_folder_make(state) || trl_findings_create(&findings, &err) < 0;
}

static inline int tear_down(void **state)
{
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
    corpus = NULL;
    return temp_folder_remove(state);
}

#endif
