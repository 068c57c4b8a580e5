/* Word error rates on the Free Spoken Digit Dataset: 300 recordings of one digit each (numbers 0 to 4 of every speaker and digit), after training on
 * the other 2700, of the same six speakers, 8 kHz. */
#include "decode_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <trellis/grammar.h>

static const char digits[] = "zero Z IH R OW\none W AH N\ntwo T UW\nthree TH R IY\nfour F AO R\nfive F AY V\n"
                             "six S IH K S\nseven S EH V AH N\neight EY T\nnine N AY N\n";
static const char words[] = "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

static void write_text(const decode_data *d, const char *name, const char *text, char path[4200])
{
    snprintf(path, 4200, "%.4000s/%s", d->folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(3);
    }
}

/* One of the digits: the data's "loop" has no way back. */
static void open_fsdd(decode_data *d)
{
    char path[4200];
    trl_error err;
    d->rate = 8000;
    bench_folder(d->folder, sizeof d->folder);
    bench_check(trl_findings_create(&d->findings, &err), &err);
    write_text(d, "lexicon.txt", digits, path);
    bench_check(trl_lexicon_read(path, NULL, &d->lexicon, &err), &err);
    write_text(d, "words.txt", words, path);
    bench_check(trl_grammar_read_list(path, NULL, &d->loop, &err), &err);
    bench_check(trl_pool_create(DECODE_THREADS, &d->pool, &err), &err);
}

static void measure(decode_bench *b, decode_data *d, const trl_model *model, const trl_corpus *test, const char *key,
                    const char *what)
{
    double rate;
    decode_sweep s = decode_sweep_begin(d, key);
    decode_sweep_add(&s, model, d->loop, d->lexicon, test);
    decode_sweep_best(&s, &rate);
    bench_report(b->result, key, rate, "%", what);
}

void decode_measure_fsdd(decode_bench *b)
{
    decode_data d = {0};
    ladder mono = {0}, tri = {0};
    if (!bench_shared("fsdd", d.place)) {
        bench_absent(b->result, "fsdd_wer_mono", "../shared/data/fsdd is not there");
        bench_absent(b->result, "fsdd_wer", "");
        return;
    }
    open_fsdd(&d);
    trl_corpus *train = decode_read_corpus(&d, b->options->tiny ? "test" : "train");
    trl_corpus *test = decode_read_corpus(&d, "test");
    decode_run_training(b, &d, train, "mono", 0, &mono);
    measure(b, &d, mono.models[0], test, "fsdd_wer_mono", "single digits, 8 kHz: monophones");
    decode_run_training(b, &d, train, "mono,tri", 0, &tri);
    measure(b, &d, tri.models[1], test, "fsdd_wer", "the same, triphones");
    trl_model_destroy(mono.models[0]);
    trl_model_destroy(tri.models[0]);
    trl_model_destroy(tri.models[1]);
    trl_corpus_destroy(train);
    trl_corpus_destroy(test);
    decode_close(&d);
}
