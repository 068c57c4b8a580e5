/* Any bytes as a manifest. Every row that is accepted has an id of its own, and never standard input as its sound. */
#include "corpus/corpus_builder.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_findings *findings = NULL;
    trl_corpus *corpus = NULL;
    if (trl__text_from_memory("fuzz", data, size, &text, NULL) < 0)
        return 0;
    if (trl_findings_create(&findings, NULL) == 0 &&
        trl__corpus_create("fuzz-folder-that-is-not-there/m.tsv", TRL_CORPUS_MANIFEST, 1, findings, &corpus, NULL) ==
            0 &&
        trl__manifest_parse(corpus, &text, NULL) == 0 && trl__corpus_finish(corpus, NULL) == 0)
        for (size_t i = 0; i < trl_corpus_count(corpus); i++) {
            const trl_utterance *u = trl_corpus_get(corpus, i);
            if (!*u->id || trl_corpus_find(corpus, u->id) != (long)i || strcmp(u->path, "-") == 0)
                abort();
        }
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
    trl__text_free(&text);
    return 0;
}
