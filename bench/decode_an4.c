/* Word error rates on CMU AN4's test set (130 utterances, 773 words, 10 speakers) the way Kaldi's recipe measures them: a uniform loop over the
 * words, the best of 11 language scales and three word penalties on the test set itself; and with AN4's trigram model. */
#include "decode_bench.h"

#include <stdio.h>
#include <trellis/fst_file.h>

static const char *const trigrams[LADDER_RUNGS] = {NULL, "an4_wer_trigram", NULL, "an4_wer_trigram_sat"};

static void say_absent(json_t *result)
{
    char key[32];
    for (int i = 0; i < LADDER_RUNGS; i++) {
        snprintf(key, sizeof key, "an4_wer_%s", decode_rungs[i]);
        bench_absent(result, key, i == 0 ? "../shared/data/an4 is not there" : "");
    }
    for (int i = 0; i < LADDER_RUNGS; i++)
        if (trigrams[i])
            bench_absent(result, trigrams[i], "");
    bench_absent(result, "confidence_ece", "");
}

static void measure(decode_bench *b, decode_data *d, const trl_model *model, const trl_fst *grammar,
                    const trl_corpus *test, const char *key, const char *what)
{
    char text[32], meaning[200];
    double rate;
    decode_sweep s = decode_sweep_begin(d, key);
    decode_sweep_add(&s, model, grammar, d->lexicon, test);
    int best = decode_sweep_best(&s, &rate);
    snprintf(meaning, sizeof meaning, "%s: %d tied states, %lld Gaussians; best at scale and penalty %s", what,
             (int)trl_model_tied_states(model), (long long)trl_model_gaussians(model), decode_setting_text(best, text));
    bench_report(b->result, key, rate, "%", meaning);
}

void decode_measure_an4(decode_bench *b)
{
    char path[4200];
    trl_error err;
    decode_data d;
    trl_model *models[LADDER_RUNGS];
    trl_fst *trigram;
    if (!decode_open_an4(&d)) {
        say_absent(b->result);
        return;
    }
    decode_an4_models(b, &d, models);
    trl_corpus *test = decode_read_corpus(&d, "test");
    for (int i = 0; i < LADDER_RUNGS; i++) {
        char key[32];
        snprintf(key, sizeof key, "an4_wer_%s", decode_rungs[i]);
        measure(b, &d, models[i], d.loop, test, key, "uniform word loop");
    }
    decode_measure_confidence(b, &d, models[1], test);
    bench_check(trl_lexicon_fold_case(d.lexicon, &err), &err); /* the trigrams' words have small letters */
    snprintf(path, sizeof path, "%.4000s/lm/an4_full.trigram.arpa", d.place);
    bench_check(trl_fst_read_arpa(path, &(trl_arpa_options){.keep_words = 1}, &trigram, NULL, &err), &err);
    for (int i = 0; i < LADDER_RUNGS; i++)
        if (trigrams[i])
            measure(b, &d, models[i], trigram, test, trigrams[i], "AN4's trigrams");
    trl_fst_destroy(trigram);
    trl_corpus_destroy(test);
    decode_free_models(models);
    decode_close(&d);
}
