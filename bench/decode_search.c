/* The search alone, with likelihoods that are there already, beside the decoders of kaldi-decoder (PyPI; Kaldi's code): FasterDecoder, which finds the best
 * path and keeps no lattice, and LatticeSimpleDecoder, which keeps one but knows no limits on the number of tokens. Ours keeps the
 * lattice. All get the same graph, matrices and beams, and one core; each side times its own decoder, and neither counts reading files. */
#include "decode_engine.h"
#include "train_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <trellis/feature_file.h>
#include <trellis/fst_file.h>
#include <trellis/graph.h>

#define FRAME_SECONDS 0.01

typedef struct search_clock {
    decode_engine engine;
    size_t tied_states;
    int32_t *all_states; /* their numbers */
    trl_feature_writer *writer;
    FILE *words;
    trl_matrix likelihoods;
    size_t left; /* utterances that are still to be decoded */
    size_t frames;
    double seconds;
} search_clock;

static int score_all(search_clock *c, const trl_matrix *frames, trl_error *err)
{
    int code = trl_matrix_resize(&c->likelihoods, frames->rows, c->tied_states, err);
    if (code == 0)
        code = trl__scorer_begin(c->engine.scorer, c->engine.parameters, frames, err);
    trl__score_group *group;
    trl__scorer_open(c->engine.scorer, 0, &group);
    for (int32_t first = 0, end; code == 0 && first < group->frames; first = end) {
        end = trl__block_end(group, first);
        code = group->fill(group, 0, first, end, c->all_states, (int32_t)c->tied_states, err);
        for (int32_t f = first; code == 0 && f < end; f++)
            for (size_t tied = 0; tied < c->tied_states; tied++)
                trl_matrix_row(&c->likelihoods, (size_t)f)[tied] =
                    group->scores[tied * group->stride + (size_t)f % group->window * group->step];
    }
    return code;
}

static int search(search_clock *c, trl_error *err)
{
    const trl__raw_lattice *raw;
    trl__scorer_begin_likelihoods(c->engine.scorer, &c->likelihoods);
    double start = bench_cpu_seconds();
    int code = trl__decoder_begin(c->engine.decoder, err);
    if (code == 0)
        code = trl__scorer_search(c->engine.scorer, c->engine.decoder, err);
    if (code == 0)
        code = trl__decoder_finish(c->engine.decoder, &raw, err);
    if (code == 0)
        code = decode_engine_words(&c->engine, raw, err);
    c->seconds += bench_cpu_seconds() - start;
    return code;
}

static int use_frames(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *err)
{
    search_clock *c = user;
    if (c->left == 0)
        return 0;
    c->left--;
    int code = score_all(c, frames, err);
    if (code == 0)
        code = search(c, err);
    if (code == 0)
        code = trl_feature_writer_add(c->writer, u->id, &c->likelihoods, err);
    c->frames += frames->rows;
    fprintf(c->words, "%s", u->id);
    for (size_t i = 0; code == 0 && i < c->engine.best.count; i++)
        fprintf(c->words, " %d", (int)c->engine.best.words[i].word);
    fputc('\n', c->words);
    return code;
}

/* The graph for a decoder that takes columns of the matrix, from 1, as input labels. */
static void write_graph(const speed_task *t)
{
    trl_error err;
    char path[4200];
    trl_fst *fst;
    bench_check(trl_graph_to_fst(t->graph, &fst, &err), &err);
    snprintf(path, sizeof path, "%.4000s/graph.fst", t->folder);
    bench_check(trl_fst_write(fst, path, TRL_FST_VECTOR, &err), &err);
    trl_fst_destroy(fst);
    snprintf(path, sizeof path, "%.4000s/columns.txt", t->folder);
    FILE *file = fopen(path, "w");
    for (int32_t id = 0; file && id <= t->graph->transitions; id++)
        fprintf(file, "%d\n", (int)t->graph->tied[id] + 1);
    if (!file || fclose(file) != 0) {
        perror(path);
        exit(3);
    }
}

static void report_peer(const speed_task *t, const search_clock *c, const json_t *peer)
{
    static const char *const keys[] = {"search_vs_kaldi_faster", "search_vs_kaldi_lattice"};
    static const char *const names[] = {"faster", "lattice"};
    static const char *const meanings[] = {"as fast as FasterDecoder of kaldi-decoder, which keeps no lattice",
                                           "as fast as its LatticeSimpleDecoder, which has no limits of tokens"};
    for (int i = 0; i < 2; i++)
        if (peer)
            bench_report(t->bench->result, keys[i],
                         json_number_value(json_object_get(json_object_get(peer, names[i]), "seconds")) / c->seconds,
                         "x", meanings[i]);
        else
            bench_absent(t->bench->result, keys[i], i == 0 ? "kaldi-decoder is not in build/venv" : "");
    if (peer)
        json_object_set(t->bench->result, "kaldi_decoder", (json_t *)peer);
}

static int32_t *number_states(size_t count)
{
    int32_t *numbers = malloc(count * sizeof *numbers);
    if (!numbers) {
        perror("tied states");
        exit(3);
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = (int32_t)i;
    return numbers;
}

void speed_measure_search(speed_task *t)
{
    trl_error err;
    search_clock c = {.tied_states = (size_t)t->model->tied_states, .left = t->bench->options->tiny ? 3 : 40};
    char path[4200];
    decode_engine_open(&c.engine, t->model, t->graph);
    snprintf(path, sizeof path, "npy:%.4000s/likelihoods", t->folder);
    bench_check(trl_feature_writer_open(path, NULL, &c.writer, &err), &err);
    snprintf(path, sizeof path, "%.4000s/words.txt", t->folder);
    c.words = fopen(path, "w");
    if (!c.words) {
        perror(path);
        exit(3);
    }
    c.all_states = number_states(c.tied_states);
    decode_engine_run(&c.engine, t, use_frames, &c);
    free(c.all_states);
    bench_check(trl_feature_writer_commit(c.writer, &err), &err);
    fclose(c.words);
    write_graph(t);
    bench_report(t->bench->result, "search_rtf_tri", c.seconds / ((double)c.frames * FRAME_SECONDS), "",
                 "CPU seconds per second of sound, search with a lattice, likelihoods given");
    json_t *peer = train_run_peer("kaldi_decoder_search.py", t->folder);
    report_peer(t, &c, peer);
    json_decref(peer);
    decode_engine_close(&c.engine);
    trl_matrix_free(&c.likelihoods);
}
