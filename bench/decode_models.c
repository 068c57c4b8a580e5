/* AN4 and the models of its ladder, for `trellis-bench decode`. */
#include "decode_bench.h"
#include "train_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/grammar.h>

const char *const decode_rungs[LADDER_RUNGS] = {"mono", "tri", "lda", "sat"};

/* ---- Data ---- */

static trl_fst *word_loop(const trl_lexicon *lexicon)
{
    trl_error err;
    trl_fst *loop;
    size_t count = trl_lexicon_words(lexicon);
    const char **words = malloc(count * sizeof *words);
    if (!words)
        exit(3);
    for (size_t i = 0; i < count; i++)
        words[i] = trl_lexicon_word(lexicon, i);
    bench_check(trl_grammar_word_loop(words, count, NULL, &loop, &err), &err);
    free(words);
    return loop;
}

int decode_open_an4(decode_data *d)
{
    char path[4200];
    trl_error err;
    *d = (decode_data){.rate = 16000};
    if (!bench_shared("an4", d->place))
        return 0;
    bench_folder(d->folder, sizeof d->folder);
    bench_check(trl_findings_create(&d->findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/lexicon.txt", d->place);
    bench_check(trl_lexicon_read(path, NULL, &d->lexicon, &err), &err);
    bench_check(trl_pool_create(DECODE_THREADS, &d->pool, &err), &err);
    d->loop = word_loop(d->lexicon);
    return 1;
}

void decode_close(decode_data *d)
{
    trl_fst_destroy(d->loop);
    trl_pool_destroy(d->pool);
    trl_lexicon_destroy(d->lexicon);
    trl_findings_destroy(d->findings);
    bench_remove_folder(d->folder);
}

trl_corpus *decode_read_corpus(decode_data *d, const char *part)
{
    char path[4200];
    trl_error err;
    trl_corpus *corpus;
    snprintf(path, sizeof path, "%.4000s/%s", d->place, part);
    bench_check(trl_corpus_read(path, NULL, d->findings, &corpus, &err), &err);
    return corpus;
}

/* ---- Models ---- */

static trl_frontend *frontend_at(double rate)
{
    trl_error err;
    trl_frontend *at_16_khz = train_frontend(), *frontend;
    trl_frontend_options o = *trl_frontend_get(at_16_khz);
    o.rate = rate;
    bench_check(trl_frontend_create(&o, &frontend, &err), &err);
    trl_frontend_destroy(at_16_khz);
    return frontend;
}

void decode_run_training(const decode_bench *b, decode_data *d, const trl_corpus *corpus, const char *stages,
                         uint64_t seed, ladder *l)
{
    char folder[4096];
    trl_error err;
    trl_model *model;
    trl_frontend *frontend = frontend_at(d->rate);
    trl_train_options o = trl_train_defaults();
    bench_folder(folder, sizeof folder);
    o.stages = stages;
    o.seed = seed;
    o.iterations = b->options->tiny ? 1 : o.iterations;
    o.folder = l->folder = folder;
    o.report = ladder_note;
    o.user = l;
    bench_check(trl_train(corpus, d->lexicon, frontend, &o, d->pool, d->findings, &model, &err), &err);
    trl_model_destroy(model);
    trl_frontend_destroy(frontend);
    bench_remove_folder(folder);
}

void decode_train(const decode_bench *b, decode_data *d, const trl_corpus *corpus, uint64_t seed,
                  trl_model *models[LADDER_RUNGS])
{
    ladder mono = {0}, all = {0};
    decode_run_training(b, d, corpus, "mono", seed, &mono);
    decode_run_training(b, d, corpus, LADDER_STAGES, seed, &all);
    trl_model_destroy(all.models[0]);
    models[0] = mono.models[0];
    for (int i = 1; i < LADDER_RUNGS; i++)
        models[i] = all.models[i];
}

void decode_free_models(trl_model *models[LADDER_RUNGS])
{
    for (int i = 0; i < LADDER_RUNGS; i++)
        trl_model_destroy(models[i]);
}

/* ---- Models that stay ---- */

static void kept_path(const char *rung, char path[4300])
{
    snprintf(path, 4300, "%s/bench-an4-%s.trm", TRELLIS_BUILD_DIR, rung);
}

/* Of a training by the program as it is now: a file that is older than it says nothing of it. */
static int read_kept(trl_model *models[LADDER_RUNGS])
{
    char path[4300];
    trl_error err;
    struct stat program, file;
    if (stat("/proc/self/exe", &program) != 0)
        return 0;
    for (int i = 0; i < LADDER_RUNGS; i++) {
        kept_path(decode_rungs[i], path);
        if (stat(path, &file) != 0 || file.st_mtime < program.st_mtime || trl_model_read(path, &models[i], &err) < 0) {
            while (i-- > 0)
                trl_model_destroy(models[i]);
            return 0;
        }
    }
    return 1;
}

void decode_an4_models(const decode_bench *b, decode_data *d, trl_model *models[LADDER_RUNGS])
{
    char path[4300];
    trl_error err;
    if (b->options->quick && !b->options->tiny && read_kept(models)) {
        printf("  (models of an earlier run)\n");
        return;
    }
    trl_corpus *corpus = decode_read_corpus(d, b->options->tiny ? "test" : "train");
    decode_train(b, d, corpus, 0, models);
    trl_corpus_destroy(corpus);
    for (int i = 0; !b->options->tiny && i < LADDER_RUNGS; i++) {
        kept_path(decode_rungs[i], path);
        bench_check(trl_model_write(models[i], path, &err), &err);
    }
}
