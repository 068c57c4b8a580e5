/* Grammars from text in memory. */
#ifndef TEST_GRAMMAR_FIXTURE_H
#define TEST_GRAMMAR_FIXTURE_H

#include "cmocka_test.h"
#include "decode/grammar_data.h"

#include <string.h>

static inline int try_jsgf(const char *text, const char *rule, const trl_grammar_options *options, trl_fst **fst,
                           trl_error *err)
{
    trl__text bytes;
    *fst = NULL;
    int code = trl__text_from_memory("grammar", text, strlen(text), &bytes, err);
    if (code < 0)
        return code;
    code = trl__grammar_jsgf("grammar", &bytes, rule, options, fst, err);
    trl__text_free(&bytes);
    return code;
}

static inline trl_fst *jsgf_of(const char *text, const char *rule)
{
    trl_fst *fst;
    trl_error err;
    if (try_jsgf(text, rule, NULL, &fst, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    return fst;
}

#endif
