/* Are confidences what they say they are? Of the words that are recognised with probability 0.8, eight in ten should be right. AN4's test set, triphones,
 * uniform word loop; words count in ten bins of their confidence. The expected calibration error is the mean, over words, of how far a
 * bin's share of right words lies from its mean confidence. */
#include "decode_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 10
#define SCALE 12 /* of language: the middle of what Kaldi's scoring tries */

typedef struct bin {
    double words, right, confidence; /* sums */
} bin;

typedef struct heard_words {
    FILE *said, *heard;
    float *confidence; /* of all words, in the order of the corpus */
    size_t count, capacity;
} heard_words;

static int note_words(void *user, const trl_decoding *d, trl_error *err)
{
    (void)err;
    heard_words *h = user;
    fprintf(h->said, "%s %s\n", d->utterance->id, d->utterance->text);
    fputs(d->utterance->id, h->heard);
    for (size_t i = 0; i < d->words.count; i++) {
        if (h->count == h->capacity) {
            h->capacity = 2 * h->capacity + 1000;
            h->confidence = realloc(h->confidence, h->capacity * sizeof *h->confidence);
            if (!h->confidence)
                exit(3);
        }
        fprintf(h->heard, " %s", d->words.items[i].label);
        h->confidence[h->count++] = d->words.items[i].confidence;
    }
    fputc('\n', h->heard);
    return 0;
}

static void count_words(const trl_score *score, const heard_words *h, bin bins[BINS])
{
    size_t next = 0;
    for (size_t u = 0; u < trl_score_utterances(score); u++) {
        const trl_scored_utterance *s = trl_score_utterance(score, u);
        for (size_t i = 0; i < s->pair_count; i++) {
            if (!s->pairs[i].heard || next >= h->count)
                continue;
            double confidence = fmin(fmax((double)h->confidence[next++], 0), 1);
            bin *to = &bins[confidence < 1 ? (int)(confidence * BINS) : BINS - 1];
            to->words++;
            to->right += s->pairs[i].kind == 'C';
            to->confidence += confidence;
        }
    }
}

static void score_words(const char *said_path, const char *heard_path, const heard_words *h, bin bins[BINS])
{
    trl_error err;
    trl_transcripts *said, *heard;
    trl_score *score;
    trl_score_options o = trl_score_defaults();
    o.scorer = TRL_SCORER_EDIT;
    bench_check(trl_transcripts_read(said_path, TRL_TRANSCRIPTS_TEXT, &said, &err), &err);
    bench_check(trl_transcripts_read(heard_path, TRL_TRANSCRIPTS_TEXT, &heard, &err), &err);
    bench_check(trl_score_create(said, heard, &o, NULL, &score, &err), &err);
    count_words(score, h, bins);
    trl_score_destroy(score);
    trl_transcripts_destroy(heard);
    trl_transcripts_destroy(said);
}

static void draw(const bin bins[BINS], const char *path)
{
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot)
        return;
    const char *dot = strrchr(path, '.');
    fprintf(gnuplot, "set terminal %s size 700,600\nset output '%s'\n",
            dot && strcmp(dot, ".svg") == 0 ? "svg" : "pngcairo", path);
    fputs("set key left top\nset grid\nset xrange [0:1]\nset yrange [0:1]\nset xlabel 'confidence'\n"
          "set ylabel 'share of words that are right'\nset title 'Confidences on AN4'\n"
          "plot x with lines title 'as it should be', '-' with linespoints pointtype 7 title 'measured'\n",
          gnuplot);
    for (int i = 0; i < BINS; i++)
        if (bins[i].words > 0)
            fprintf(gnuplot, "%g %g\n", bins[i].confidence / bins[i].words, bins[i].right / bins[i].words);
    fputs("e\n", gnuplot);
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "trellis-bench: gnuplot could not draw %s\n", path);
}

static void report(decode_bench *b, const bin bins[BINS])
{
    json_t *list = json_array();
    double words = 0, gap = 0;
    for (int i = 0; i < BINS; i++) {
        words += bins[i].words;
        gap += fabs(bins[i].right - bins[i].confidence);
        json_array_append_new(list, json_pack("{s:f, s:f, s:f}", "words", bins[i].words, "right", bins[i].right,
                                              "confidence", bins[i].confidence));
    }
    bench_report(b->result, "confidence_ece", words > 0 ? gap / words : 0, "",
                 "expected calibration error of words' confidences, triphones, ten bins");
    json_object_set_new(b->result, "confidence_bins", list);
}

void decode_measure_confidence(decode_bench *b, decode_data *d, const trl_model *model, const trl_corpus *test)
{
    char said[4300], heard[4300];
    bin bins[BINS] = {{0}};
    trl_error err;
    trl_graph *graph;
    trl_decode_summary summary;
    trl_decode_options o = trl_decode_defaults();
    decode_sweep files = decode_sweep_begin(d, "confidence");
    decode_sweep_path(&files, -1, said);
    decode_sweep_path(&files, 0, heard);
    heard_words h = {.said = fopen(said, "w"), .heard = fopen(heard, "w")};
    if (!h.said || !h.heard)
        exit(3);
    o.confidence = 1;
    o.language_scale = SCALE;
    bench_check(trl_graph_build(model, d->lexicon, d->loop, NULL, &graph, NULL, &err), &err);
    bench_check(trl_decode_corpus(model, graph, test, &o, d->pool, d->findings, note_words, &h, &summary, &err), &err);
    fclose(h.said);
    fclose(h.heard);
    score_words(said, heard, &h, bins);
    report(b, bins);
    if (b->options->plot)
        draw(bins, b->options->plot);
    free(h.confidence);
    trl_graph_destroy(graph);
}
