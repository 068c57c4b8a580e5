/* Speakers held out. 773 words alone say little: one more error in a hundred is luck. So:
 *
 * The headline is the test set's word error rate with language scale and word penalty that were chosen without it: AN4's training speakers
 * are held out in five parts, each decoded with models of the other four. Mean and spread are over five seeds: which half of the held-out
 * speakers the choice looks at, and the training's own (its audits).
 *
 * The rungs are compared over all 84 speakers, training and test, in ten parts, each decoded with models of the other nine, at the setting
 * that is best on those. Significance is by matched pairs. */
#include "decode_bench.h"
#include "workload_dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 5
#define HELD_OUT_PARTS 5
#define CROSS_PARTS 10
#define MOST_SPEAKERS 200

/* ---- Parts of corpora ---- */

typedef struct speakers {
    size_t count;
    const char *name[MOST_SPEAKERS];
    int part[MOST_SPEAKERS];
} speakers;

static void shuffle(size_t *order, size_t count, dice *d)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)below(d, (int)i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* All speakers of the corpora, dealt out. */
static speakers deal_out(trl_corpus *const *corpora, int count, int parts)
{
    speakers s = {0};
    size_t order[MOST_SPEAKERS];
    dice d = {.seed = 1};
    for (int c = 0; c < count; c++)
        for (size_t i = 0; i < trl_corpus_speakers(corpora[c]) && s.count < MOST_SPEAKERS; i++)
            s.name[s.count++] = trl_corpus_speaker(corpora[c], i);
    shuffle(order, s.count, &d);
    for (size_t i = 0; i < s.count; i++)
        s.part[order[i]] = (int)(i % (size_t)parts);
    return s;
}

static size_t find_speaker(const speakers *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->name[i], name) != 0)
        i++;
    return i;
}

/* The utterances whose speakers are in the part, or those of all others. */
static trl_corpus *part_of(decode_data *d, trl_corpus *const *corpora, int count, const speakers *s, int part,
                           int inside)
{
    char path[4200];
    trl_error err;
    trl_corpus *corpus;
    snprintf(path, sizeof path, "%.4000s/part.tsv", d->folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    fputs("id\tpath\tspeaker\ttext\n", file);
    for (int c = 0; c < count; c++)
        for (size_t i = 0; i < trl_corpus_count(corpora[c]); i++) {
            const trl_utterance *u = trl_corpus_get(corpora[c], i);
            if (!u->bad && (s->part[find_speaker(s, u->speaker)] == part) == inside)
                fprintf(file, "%s\t%s\t%s\t%s\n", u->id, u->path, u->speaker, u->text);
        }
    fclose(file);
    bench_check(trl_corpus_read(path, NULL, d->findings, &corpus, &err), &err);
    return corpus;
}

/* Each part with the models of the others. sweeps[part * LADDER_RUNGS + rung]. */
static void run_parts(const decode_bench *b, decode_data *d, trl_corpus *const *corpora, int count, const speakers *s,
                      int parts, const char *name, decode_sweep *sweeps)
{
    for (int part = 0; part < parts; part++) {
        trl_model *models[LADDER_RUNGS];
        trl_corpus *others = part_of(d, corpora, count, s, part, 0), *held_out = part_of(d, corpora, count, s, part, 1);
        decode_train(b, d, others, 0, models);
        for (int rung = 0; rung < LADDER_RUNGS; rung++) {
            char text[64];
            snprintf(text, sizeof text, "%s-%d-%s", name, part, decode_rungs[rung]);
            sweeps[part * LADDER_RUNGS + rung] = decode_sweep_begin(d, text);
            decode_sweep_add(&sweeps[part * LADDER_RUNGS + rung], models[rung], d->loop, d->lexicon, held_out);
        }
        decode_free_models(models);
        trl_corpus_destroy(others);
        trl_corpus_destroy(held_out);
    }
}

/* ---- The headline ---- */

/* errors[speaker * DECODE_SETTINGS + setting] */
typedef struct error_table {
    const speakers *speakers;
    int setting;
    uint64_t errors[MOST_SPEAKERS * DECODE_SETTINGS];
} error_table;

static void note_speakers(void *user, const trl_score *score)
{
    error_table *t = user;
    for (size_t i = 0; i < trl_score_speakers(score); i++) {
        const trl_scored_speaker *s = trl_score_speaker(score, i);
        size_t number = find_speaker(t->speakers, s->name);
        if (number < t->speakers->count)
            t->errors[number * DECODE_SETTINGS + (size_t)t->setting] += trl_errors(s->counts);
    }
}

static error_table *tabulate(const speakers *s, const decode_sweep *sweeps, int parts, int rung)
{
    error_table *t = calloc(1, sizeof *t);
    if (!t)
        exit(3);
    t->speakers = s;
    for (int part = 0; part < parts; part++)
        for (t->setting = 0; t->setting < DECODE_SETTINGS; t->setting++)
            decode_sweep_counts(&sweeps[part * LADDER_RUNGS + rung], t->setting, note_speakers, t);
    return t;
}

/* The setting with the fewest errors of a random half of the speakers. */
static int choose_setting(const error_table *t, uint64_t seed)
{
    size_t order[MOST_SPEAKERS], half = (t->speakers->count + 1) / 2;
    dice d = {.seed = seed, .stream = 1};
    int best = 0;
    uint64_t least = UINT64_MAX;
    shuffle(order, t->speakers->count, &d);
    for (int setting = 0; setting < DECODE_SETTINGS; setting++) {
        uint64_t errors = 0;
        for (size_t i = 0; i < half; i++)
            errors += t->errors[order[i] * DECODE_SETTINGS + (size_t)setting];
        if (errors < least) {
            least = errors;
            best = setting;
        }
    }
    return best;
}

static void say_headline(decode_bench *b, double rates[LADDER_RUNGS][SEEDS])
{
    for (int rung = 0; rung < LADDER_RUNGS; rung++) {
        char key[40];
        double sum = 0, squares = 0;
        for (int i = 0; i < SEEDS; i++)
            sum += rates[rung][i];
        double mean = sum / SEEDS;
        for (int i = 0; i < SEEDS; i++)
            squares += (rates[rung][i] - mean) * (rates[rung][i] - mean);
        snprintf(key, sizeof key, "an4_wer_cv_%s", decode_rungs[rung]);
        bench_report(b->result, key, mean, "%", "test set, setting chosen on held-out training speakers; five seeds");
        snprintf(key, sizeof key, "an4_wer_cv_%s_sd", decode_rungs[rung]);
        bench_report(b->result, key, sqrt(squares / (SEEDS - 1)), "%", "standard deviation over the seeds");
    }
}

static void measure_headline(decode_bench *b, decode_data *d, trl_corpus *train, const trl_corpus *test)
{
    decode_sweep sweeps[HELD_OUT_PARTS * LADDER_RUNGS];
    error_table *tables[LADDER_RUNGS];
    double rates[LADDER_RUNGS][SEEDS];
    speakers s = deal_out(&train, 1, HELD_OUT_PARTS);
    run_parts(b, d, &train, 1, &s, HELD_OUT_PARTS, "held", sweeps);
    for (int rung = 0; rung < LADDER_RUNGS; rung++)
        tables[rung] = tabulate(&s, sweeps, HELD_OUT_PARTS, rung);
    for (int i = 0; i < SEEDS; i++) {
        trl_model *models[LADDER_RUNGS];
        decode_train(b, d, train, (uint64_t)i + 1, models);
        for (int rung = 0; rung < LADDER_RUNGS; rung++) {
            char text[64];
            snprintf(text, sizeof text, "seed-%d-%s", i, decode_rungs[rung]);
            decode_sweep sweep = decode_sweep_begin(d, text);
            decode_sweep_add(&sweep, models[rung], d->loop, d->lexicon, test);
            int setting = choose_setting(tables[rung], (uint64_t)i + 1);
            rates[rung][i] = decode_percent(decode_sweep_counts(&sweep, setting, NULL, NULL));
            printf("  seed %d, %s: %.2f %% at scale and penalty %s\n", i + 1, decode_rungs[rung], rates[rung][i],
                   decode_setting_text(setting, text));
        }
        decode_free_models(models);
    }
    say_headline(b, rates);
    for (int rung = 0; rung < LADDER_RUNGS; rung++)
        free(tables[rung]);
}

/* ---- Rungs compared ---- */

/* The setting that is best on all parts but one. */
static int best_elsewhere(const decode_sweep *sweeps, int rung, int except)
{
    uint64_t errors[DECODE_SETTINGS] = {0};
    int best = 0;
    for (int part = 0; part < CROSS_PARTS; part++)
        for (int setting = 0; part != except && setting < DECODE_SETTINGS; setting++)
            errors[setting] +=
                trl_errors(decode_sweep_counts(&sweeps[part * LADDER_RUNGS + rung], setting, NULL, NULL));
    for (int setting = 1; setting < DECODE_SETTINGS; setting++)
        best = errors[setting] < errors[best] ? setting : best;
    return best;
}

static void copy_lines(const char *from, FILE *to)
{
    char line[4096];
    FILE *file = fopen(from, "r");
    while (file && fgets(line, sizeof line, file))
        fputs(line, to);
    if (file)
        fclose(file);
}

/* All parts' words, each at its setting, as one sweep's file; "said" likewise. */
static void gather(decode_data *d, const decode_sweep *sweeps, int rung, char said[4300], char heard[4300])
{
    snprintf(said, 4300, "%s/cross-said-%s.txt", d->folder, decode_rungs[rung]);
    snprintf(heard, 4300, "%s/cross-%s.txt", d->folder, decode_rungs[rung]);
    FILE *reference = fopen(said, "w"), *words = fopen(heard, "w");
    if (!reference || !words)
        exit(3);
    for (int part = 0; part < CROSS_PARTS; part++) {
        const decode_sweep *s = &sweeps[part * LADDER_RUNGS + rung];
        char path[4300];
        decode_sweep_path(s, -1, path);
        copy_lines(path, reference);
        decode_sweep_path(s, best_elsewhere(sweeps, rung, part), path);
        copy_lines(path, words);
    }
    fclose(reference);
    fclose(words);
}

static void compare(decode_bench *b, decode_data *d, trl_score *const *scores)
{
    trl_error err;
    trl_bootstrap how = trl_bootstrap_defaults();
    json_t *list = json_array();
    how.speakers = 1;
    for (int rung = 1; rung < LADDER_RUNGS; rung++) {
        trl_comparison c;
        bench_check(trl_score_compare(scores[rung - 1], scores[rung], &how, d->pool, &c, &err), &err);
        printf("  %s after %s: %.2f points fewer (95 %% by speakers: %.2f to %.2f), matched pairs p = %.2g\n",
               decode_rungs[rung], decode_rungs[rung - 1], 100 * c.difference, 100 * c.interval[0], 100 * c.interval[1],
               c.segments.p);
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "rung", decode_rungs[rung], "after",
                                              decode_rungs[rung - 1], "fewer", 100 * c.difference, "from",
                                              100 * c.interval[0], "to", 100 * c.interval[1], "p", c.segments.p));
    }
    json_object_set_new(b->result, "an4_cross_compared", list);
}

static void measure_comparison(decode_bench *b, decode_data *d, trl_corpus *const *corpora)
{
    static decode_sweep sweeps[CROSS_PARTS * LADDER_RUNGS];
    trl_transcripts *said[LADDER_RUNGS], *heard[LADDER_RUNGS];
    trl_score *scores[LADDER_RUNGS];
    trl_error err;
    trl_score_options o = trl_score_defaults();
    o.scorer = TRL_SCORER_EDIT;
    speakers s = deal_out(corpora, 2, CROSS_PARTS);
    run_parts(b, d, corpora, 2, &s, CROSS_PARTS, "cross", sweeps);
    for (int rung = 0; rung < LADDER_RUNGS; rung++) {
        char reference[4300], words[4300], key[40];
        gather(d, sweeps, rung, reference, words);
        bench_check(trl_transcripts_read(reference, TRL_TRANSCRIPTS_TEXT, &said[rung], &err), &err);
        bench_check(trl_transcripts_read(words, TRL_TRANSCRIPTS_TEXT, &heard[rung], &err), &err);
        bench_check(trl_score_create(said[rung], heard[rung], &o, NULL, &scores[rung], &err), &err);
        snprintf(key, sizeof key, "an4_cross_wer_%s", decode_rungs[rung]);
        bench_report(b->result, key, decode_percent(trl_score_total(scores[rung])), "%",
                     "all 84 speakers, each held out once; setting from the others");
    }
    compare(b, d, scores);
    for (int rung = 0; rung < LADDER_RUNGS; rung++) {
        trl_score_destroy(scores[rung]);
        trl_transcripts_destroy(said[rung]);
        trl_transcripts_destroy(heard[rung]);
    }
}

/* ---- Both ---- */

static void say_absent(json_t *result, const char *why)
{
    char key[40];
    for (int rung = 0; rung < LADDER_RUNGS; rung++)
        for (int cross = 0; cross <= 1; cross++) {
            snprintf(key, sizeof key, "an4_%s_%s", cross ? "cross_wer" : "wer_cv", decode_rungs[rung]);
            bench_absent(result, key, rung == 0 && !cross ? why : "");
        }
}

void decode_measure_cross(decode_bench *b)
{
    decode_data d;
    if (b->options->quick || !decode_open_an4(&d)) {
        say_absent(b->result, b->options->quick ? "takes 21 trainings: not with --quick" : "");
        return;
    }
    trl_corpus *corpora[] = {decode_read_corpus(&d, "train"), decode_read_corpus(&d, "test")};
    measure_headline(b, &d, corpora[0], corpora[1]);
    measure_comparison(b, &d, corpora);
    trl_corpus_destroy(corpora[0]);
    trl_corpus_destroy(corpora[1]);
    decode_close(&d);
}
