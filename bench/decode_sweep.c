/* A corpus is decoded once into lattices; each setting of language scale and word penalty then finds its best words there, as Kaldi's
 * scoring does. */
#include "decode_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <trellis/lattice.h>

typedef struct sweep_work {
    const trl_graph *graph;
    FILE *said, *heard[DECODE_SETTINGS];
} sweep_work;

static trl_lattice_scale scale_of(int setting)
{
    int language = DECODE_FIRST_SCALE + setting / DECODE_PENALTIES;
    return (trl_lattice_scale){.acoustic = 1.0 / language, .graph = 1, .insertion = 0.5 * (setting % DECODE_PENALTIES)};
}

const char *decode_setting_text(int setting, char text[32])
{
    snprintf(text, 32, "%d, %.1f", DECODE_FIRST_SCALE + setting / DECODE_PENALTIES, 0.5 * (setting % DECODE_PENALTIES));
    return text;
}

double decode_percent(trl_counts counts)
{
    return 100 * trl_word_error_rate(counts);
}

void decode_sweep_path(const decode_sweep *s, int setting, char path[4300])
{
    if (setting < 0)
        snprintf(path, 4300, "%s/%s-said.txt", s->data->folder, s->name);
    else
        snprintf(path, 4300, "%s/%s-%d.txt", s->data->folder, s->name, setting);
}

decode_sweep decode_sweep_begin(decode_data *d, const char *name)
{
    decode_sweep s = {.data = d};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

/* ---- Decoding ---- */

static int write_words(void *user, const trl_decoding *decoding, trl_error *err)
{
    const sweep_work *w = user;
    const trl_symbols *names = trl_graph_words(w->graph);
    fprintf(w->said, "%s %s\n", decoding->utterance->id, decoding->utterance->text);
    for (int i = 0; i < DECODE_SETTINGS; i++) {
        trl_lattice_scale scale = scale_of(i);
        trl_nbest *list;
        int code = trl_lattice_nbest(decoding->lattice, &scale, 1, &list, err);
        if (code < 0)
            return code;
        fputs(decoding->utterance->id, w->heard[i]);
        trl_sentence best = trl_nbest_count(list) > 0 ? trl_nbest_get(list, 0) : (trl_sentence){0};
        for (size_t k = 0; k < best.count; k++)
            fprintf(w->heard[i], " %s", trl_symbols_name(names, best.words[k]));
        fputc('\n', w->heard[i]);
        trl_nbest_destroy(list);
    }
    return 0;
}

static FILE *append(const decode_sweep *s, int setting)
{
    char path[4300];
    decode_sweep_path(s, setting, path);
    FILE *file = fopen(path, "a");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

void decode_sweep_add(decode_sweep *s, const trl_model *model, const trl_fst *grammar, const trl_lexicon *lexicon,
                      const trl_corpus *corpus)
{
    trl_error err;
    trl_graph *graph;
    trl_decode_summary summary;
    trl_decode_options o = trl_decode_defaults();
    o.lattice = 1;
    bench_check(trl_graph_build(model, lexicon, grammar, NULL, &graph, NULL, &err), &err);
    sweep_work w = {.graph = graph, .said = append(s, -1)};
    for (int i = 0; i < DECODE_SETTINGS; i++)
        w.heard[i] = append(s, i);
    bench_check(
        trl_decode_corpus(model, graph, corpus, &o, s->data->pool, s->data->findings, write_words, &w, &summary, &err),
        &err);
    for (int i = 0; i < DECODE_SETTINGS; i++)
        fclose(w.heard[i]);
    fclose(w.said);
    trl_graph_destroy(graph);
}

/* ---- Counting ---- */

trl_counts decode_sweep_counts(const decode_sweep *s, int setting, void (*look)(void *user, const trl_score *score),
                               void *user)
{
    char path[4300];
    trl_error err;
    trl_transcripts *said, *heard;
    trl_score *score;
    trl_score_options o = trl_score_defaults();
    o.scorer = TRL_SCORER_EDIT;
    o.letters = TRL_LETTERS_ASCII;
    decode_sweep_path(s, -1, path);
    bench_check(trl_transcripts_read(path, TRL_TRANSCRIPTS_TEXT, &said, &err), &err);
    decode_sweep_path(s, setting, path);
    bench_check(trl_transcripts_read(path, TRL_TRANSCRIPTS_TEXT, &heard, &err), &err);
    bench_check(trl_score_create(said, heard, &o, NULL, &score, &err), &err);
    trl_counts counts = trl_score_total(score);
    if (look)
        look(user, score);
    trl_score_destroy(score);
    trl_transcripts_destroy(heard);
    trl_transcripts_destroy(said);
    return counts;
}

int decode_sweep_best(const decode_sweep *s, double *rate)
{
    int best = 0;
    *rate = INFINITY;
    for (int i = 0; i < DECODE_SETTINGS; i++) {
        double percent = decode_percent(decode_sweep_counts(s, i, NULL, NULL));
        if (percent < *rate) {
            *rate = percent;
            best = i;
        }
    }
    return best;
}
