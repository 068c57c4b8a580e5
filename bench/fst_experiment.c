/* [002]'s experiment: transducers from 1k to 150k lines of Europarl, beside the sizes of its Table 4 and the times of
 * its Tables 2 and 3.
 *
 * A transducer is built straight into its form by symbol, and kept as a file in the build folder whose name has the
 * hash of what it is made of: built once, then mapped. OpenFst's copy is made each time. */
#include "base/hash_map.h"
#include "fst_decode.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNSORTED_SECONDS 10 /* at most, about, for OpenFst with unsorted arcs */

/* Times are milliseconds per sentence: the paper's seconds for 100 sentences 1000 times, divided by 100. */
static const struct paper {
    size_t lines, states, arcs;
    double openfst, serial, p100, serial_combined, k40_combined;
} papers[] = {{1000, 3505, 443527, 0.4206, 0.1099, 0.2149, 0.47, 0.60},
              {10000, 11644, 6792487, 25.47, 0.4416, 0.2904, 5.34, 1.20},
              {100000, 33125, 95381368, 3138, 3.742, 0.7679, 60.65, 11.11},
              {150000, 39420, 150971615, 6267, 5.349, 1.029, 87.90, 17.73}};

static const struct paper *paper_of(size_t lines)
{
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++)
        if (papers[i].lines == lines)
            return &papers[i];
    return NULL;
}

/* ---- The transducer as a file ---- */

static uint64_t hash_rows(const fst_rows *rows)
{
    size_t entries = rows->first[rows->rows];
    return trl__hash((const char *)rows->first, ((size_t)rows->rows + 1) * sizeof *rows->first) ^
           3 * trl__hash((const char *)rows->column, entries * sizeof *rows->column) ^
           5 * trl__hash((const char *)rows->cost, entries * sizeof *rows->cost);
}

/* The file's name; files of other hashes for the same number of lines are removed. */
static void name_file(const translation *t, size_t lines, char path[4096])
{
    char prefix[64], name[96];
    uint64_t hash = hash_rows(&t->bigrams) + 7 * hash_rows(&t->table);
    snprintf(prefix, sizeof prefix, "translation-%zu-", lines);
    snprintf(name, sizeof name, "%s%016llx.trt", prefix, (unsigned long long)hash);
    snprintf(path, 4096, "%s/%s", TRELLIS_BUILD_DIR, name);
    DIR *folder = opendir(TRELLIS_BUILD_DIR);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && strcmp(entry->d_name, name) != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

/* For every French word, every English one it translates, and every word that one may follow. */
static void build_file(const translation *t, const char *path)
{
    trl_error err;
    trl_transducer_builder *builder;
    trl_transducer *built;
    fst_rows translates, follows;
    fst_rows_transpose(&t->table, t->french, &translates);
    fst_rows_transpose(&t->bigrams, t->english, &follows);
    bench_check(trl_transducer_builder_create(t->states, t->start, &builder, &err), &err);
    for (int32_t f = 0; f < t->french; f++)
        for (size_t i = translates.first[f]; i < translates.first[f + 1]; i++) {
            int32_t word = translates.column[i];
            for (size_t k = follows.first[word]; k < follows.first[word + 1]; k++)
                bench_check(trl_transducer_builder_arc(builder, TRANSLATION_LABEL(f), follows.column[k], word,
                                                       TRANSLATION_LABEL(word), follows.cost[k] + translates.cost[i],
                                                       &err),
                            &err);
        }
    for (int32_t s = 0; s < t->states; s++)
        if (t->final[s] < INFINITY)
            bench_check(trl_transducer_builder_final(builder, s, t->final[s], &err), &err);
    fst_rows_free(&translates);
    fst_rows_free(&follows);
    bench_check(trl_transducer_builder_finish(builder, &built, &err), &err);
    bench_check(trl_transducer_write(built, path, &err), &err);
    trl_transducer_destroy(built);
}

/* From the file; builds it when it is missing, or of a form that can't be read any more. Sets *seconds when it was
 * built. */
static trl_transducer *load(const translation *t, const char *path, double *seconds)
{
    trl_error err;
    trl_transducer *loaded;
    if (access(path, R_OK) == 0 && trl_transducer_load(path, &loaded, &err) == 0)
        return loaded;
    double start = bench_wall_seconds();
    build_file(t, path);
    *seconds = bench_wall_seconds() - start;
    bench_check(trl_transducer_load(path, &loaded, &err), &err);
    return loaded;
}

/* Maps the file: seconds until a first sentence is decoded, which is when it can be used, and milliseconds per sentence
 * then. */
static void measure_mapped(const char *path, const fst_sentences *s, int passes, double *seconds, double *ms)
{
    trl_error err;
    trl_transducer *mapped;
    fst_sentences one = {.input = s->input, .count = 1};
    double start = bench_wall_seconds();
    bench_check(trl_transducer_open(path, &mapped, &err), &err);
    decode_frontier_ms(mapped, &one, 1);
    *seconds = bench_wall_seconds() - start;
    *ms = decode_frontier_ms(mapped, s, passes);
    trl_transducer_destroy(mapped);
}

static peer_fst *make_peer(const translation *t)
{
    translation_list list = {0};
    if (!openfst())
        return NULL;
    peer_fst *peer = openfst()->create(t->states, t->start);
    for (int32_t s = 0; s < t->states; s++) {
        translation_arcs(t, s, &list);
        openfst()->fill(peer, s, list.arc, list.count, t->final[s]);
    }
    trl__free(list.arc);
    return peer;
}

/* Milliseconds per sentence of OpenFst with arcs as they come, not sorted by input: composition then looks at all arcs
 * of each state it reaches. A few sentences only. */
static double unsorted_ms(const peer_fst *peer, const fst_sentences *s)
{
    double start, seconds = 0;
    size_t count = 0;
    if (!peer || s->count == 0)
        return NAN;
    openfst()->decode(peer, s->input[0].labels, s->input[0].count,
                      PEER_VITERBI); /* finds out that they are not sorted */
    for (start = bench_cpu_seconds(); count < s->count && count < 20 && seconds < UNSORTED_SECONDS; count++) {
        openfst()->decode(peer, s->input[count].labels, s->input[count].count, PEER_VITERBI);
        seconds = bench_cpu_seconds() - start;
    }
    return 1000 * seconds / (double)count;
}

/* ---- Reporting ---- */

typedef struct measured {
    size_t lines, sentences;
    int32_t states;
    uint64_t arcs;
    double bytes_per_arc, build_seconds, open_seconds, mapped_ms, peer_unsorted;
    decode_times times;
} measured;

enum { SERIAL, FRONTIER, PARALLEL, VITERBI = 0, COMBINED = 3 };

static double peer_best(const measured *m)
{
    return fmin(m->times.peer[PEER_VITERBI], m->times.peer[PEER_VITERBI_DEFAULT]);
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *times_json(const double *ms, const char *const *names, int count)
{
    json_t *out = json_object();
    for (int i = 0; i < count; i++)
        json_object_set_new(out, names[i], real_or_null(ms[i]));
    return out;
}

static json_t *size_json(const measured *m)
{
    const struct paper *paper = paper_of(m->lines);
    json_t *line =
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "lines", (json_int_t)m->lines, "states", (json_int_t)m->states,
                  "arcs", (json_int_t)m->arcs, "sentences", (json_int_t)m->sentences, "bytes_per_arc", m->bytes_per_arc,
                  "open_seconds", m->open_seconds, "difference", m->times.difference);
    json_object_set_new(line, "viterbi_ms_mapped", real_or_null(m->mapped_ms));
    json_object_set_new(line, "build_seconds", real_or_null(m->build_seconds));
    json_object_set_new(line, "paper_states", paper ? json_integer((json_int_t)paper->states) : json_null());
    json_object_set_new(line, "paper_arcs", paper ? json_integer((json_int_t)paper->arcs) : json_null());
    json_t *ms = json_object();
    for (int i = 0; i < DECODE_METHODS; i++)
        json_object_set_new(ms, decode_method_names[i],
                            times_json(m->times.method[i], decode_operation_names, DECODE_OPERATIONS));
    json_object_set_new(ms, "openfst_unsorted", json_pack("{s:o}", "viterbi", real_or_null(m->peer_unsorted)));
    json_object_set_new(ms, "openfst", times_json(m->times.peer, decode_task_names, PEER_TASKS));
    json_object_set_new(line, "ms_per_sentence", ms);
    json_object_set_new(line, "frontier_vs_openfst_best",
                        real_or_null(peer_best(m) / m->times.method[FRONTIER][VITERBI]));
    json_object_set_new(line, "frontier_vs_serial",
                        real_or_null(m->times.method[SERIAL][VITERBI] / m->times.method[FRONTIER][VITERBI]));
    return line;
}

static void print_size(const measured *m)
{
    const struct paper *paper = paper_of(m->lines);
    printf("  %zu lines: %d states, %llu arcs", m->lines, m->states, (unsigned long long)m->arcs);
    if (paper)
        printf(" ([002]: %zu, %zu)", paper->states, paper->arcs);
    printf("; %zu sentences; ms per sentence:\n  %24s", m->sentences, "");
    for (int o = 0; o < DECODE_OPERATIONS; o++)
        printf(" %10s", decode_operation_names[o]);
    for (int i = 0; i < DECODE_METHODS; i++) {
        printf("\n  %-24s", i == PARALLEL ? "parallel, two threads" : decode_method_names[i]);
        for (int o = 0; o < DECODE_OPERATIONS; o++)
            printf(" %10.4f", m->times.method[i][o]);
    }
    if (openfst()) {
        printf("\n  %-24s %10.4f %10.4f %10s %10.4f\n  %-24s %10.4f", "OpenFst", m->times.peer[PEER_VITERBI],
               m->times.peer[PEER_FORWARD], "", m->times.peer[PEER_COMBINED], "OpenFst, default queue",
               m->times.peer[PEER_VITERBI_DEFAULT]);
        printf("\n  %-24s %10.4f", "OpenFst, arcs unsorted", m->peer_unsorted);
    }
    if (paper) {
        printf("\n  %-24s %10.4f %10s %10s %10.4f", "[002] serial, Core i7", paper->serial, "", "",
               paper->serial_combined);
        printf("\n  %-24s %10.4f %10s %10s %10.4f", "[002] P100; K40", paper->p100, "", "", paper->k40_combined);
        printf("\n  %-24s %10.4f", "[002] OpenFst, Core i7", paper->openfst);
    }
    putchar('\n');
}

/* The keys that others read: of the largest transducer. */
static void report(json_t *r, const measured *m)
{
    const double *frontier = m->times.method[FRONTIER], *serial = m->times.method[SERIAL];
    const char *key = "frontier_vs_openfst_best";
    if (openfst())
        bench_report(r, key, peer_best(m) / frontier[VITERBI], "x",
                     "OpenFst's faster queue over frontier, Viterbi, one core");
    else
        bench_absent(r, key, "libfst-dev was not installed when this was configured; `scripts/setup test` installs it");
    bench_report(r, "frontier_vs_serial", serial[VITERBI] / frontier[VITERBI], "x", "Viterbi, one core");
    bench_report(r, "frontier_vs_serial_combined", serial[COMBINED] / frontier[COMBINED], "x",
                 "forward, backward and counts, one core");
    bench_report(r, "serial_combined_vs_frontier_viterbi", serial[COMBINED] / frontier[VITERBI], "x",
                 "all three in serial over Viterbi by frontier");
    bench_report(r, "viterbi_ms_per_sentence", frontier[VITERBI], "ms", "frontier, one core");
    bench_report(r, "combined_ms_per_sentence", frontier[COMBINED], "ms", "frontier, one core");
    bench_report(r, "scaling_2_threads", m->times.batch[0] / m->times.batch[1], "x",
                 "Viterbi, one thread's wall time over two's, over sentences");
    bench_report(r, "bytes_per_arc", m->bytes_per_arc, "", "that a search for the best path walks through");
    bench_report(r, "open_seconds", m->open_seconds, "s", "mapping the file and decoding a first sentence");
    bench_report(r, "viterbi_ms_mapped", m->mapped_ms, "ms",
                 "per sentence from the mapped file, not loaded into large pages");
    bench_report(r, "weights_difference", m->times.difference, "",
                 "largest relative one between methods and OpenFst; at most 1e-4");
}

static void report_nothing(json_t *r)
{
    static const char *const keys[] = {"frontier_vs_openfst_best", "frontier_vs_serial", "viterbi_ms_per_sentence",
                                       "combined_ms_per_sentence", "bytes_per_arc"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bench_absent(r, keys[i], "no test sentence has a path");
}

/* ---- The whole ---- */

static measured measure_size(fst_bench *b, size_t lines, int is_last)
{
    measured m = {.lines = lines, .build_seconds = NAN};
    translation t;
    fst_sentences sentences = {0};
    char path[4096];
    translation_create(&t, &b->corpus, lines, 2);
    name_file(&t, lines, path);
    trl_transducer *transducer = load(&t, path, &m.build_seconds);
    m.states = trl_transducer_states(transducer);
    m.arcs = trl_transducer_arcs(transducer);
    m.bytes_per_arc = (double)trl_transducer_walked_bytes(transducer) / (double)m.arcs;
    sentences_choose(&sentences, &b->corpus, &t, transducer, b->sizes.figure_sentences);
    fst_sentences first = {.input = sentences.input};
    first.count = m.sentences = sentences.count < b->sizes.sentences ? sentences.count : b->sizes.sentences;
    if (first.count > 0)
        measure_mapped(path, &first, b->sizes.runs + 1, &m.open_seconds, &m.mapped_ms);
    peer_fst *peer = make_peer(&t);
    translation_free(&t);
    m.peer_unsorted = unsorted_ms(peer, &first);
    if (peer)
        openfst()->sort_input(peer);
    decode_measure(transducer, peer, &first, b->sizes.runs, &m.times);
    if (is_last)
        decode_figure(b, transducer, peer, &sentences);
    sentences_free(&sentences);
    if (peer)
        openfst()->destroy(peer);
    trl_transducer_destroy(transducer);
    return m;
}

void fst_measure_translation(fst_bench *b)
{
    json_t *list = json_array();
    for (int i = 0; i < 4 && b->sizes.lines[i] > 0; i++) {
        int is_last = i == 3 || b->sizes.lines[i + 1] == 0;
        measured m = measure_size(b, b->sizes.lines[i], is_last);
        json_array_append_new(list, size_json(&m));
        print_size(&m);
        if (is_last && m.sentences > 0)
            report(b->result, &m);
        else if (is_last)
            report_nothing(b->result);
    }
    json_object_set_new(b->result, "sizes", list);
}
