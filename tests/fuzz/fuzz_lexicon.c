/* Any bytes as a lexicon. Of what is accepted, every word has a pronunciation and every pronunciation a phone. */
#include "corpus/corpus_builder.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const trl_lexicon *lexicon, size_t word)
{
    size_t variants = trl_lexicon_pronunciations(lexicon, word);
    if (variants == 0 || trl_lexicon_find(lexicon, trl_lexicon_word(lexicon, word)) != (long)word)
        abort();
    for (size_t v = 0; v < variants; v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        if (p.length == 0 || !(p.probability > 0 && p.probability <= 1))
            abort();
        for (size_t i = 0; i < p.length; i++)
            if (!trl_lexicon_phone(lexicon, (size_t)p.phones[i]))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_lexicon *lexicon = NULL;
    trl_findings *findings = NULL;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0)
        return 0;
    if (trl_findings_create(&findings, &err) == 0 && trl__lexicon_parse("fuzz", &text, findings, &lexicon, &err) == 0)
        for (size_t w = 0; w < trl_lexicon_words(lexicon); w++)
            check_word(lexicon, w);
    trl_lexicon_destroy(lexicon);
    trl_findings_destroy(findings);
    trl__text_free(&text);
    return 0;
}
