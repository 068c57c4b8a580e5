/* Transducers: [002]'s experiment with every method of <trellis/transduce.h>, and the operations of lexicon and
 * grammar, beside OpenFst in this process.
 *
 * Both sides of a ratio are measured by turns in this run, and the best run of each counts, because other work on the
 * machine only ever adds. Figures of one core are CPU seconds, those of two threads wall seconds. Both sides' answers
 * are compared, and the benchmark fails where they differ.
 *
 * Our transducers are loaded into large pages. GLIBC_TUNABLES=glibc.malloc.hugetlb=1 in the environment gives OpenFst's
 * memory the same.
 */
#include "fst_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fst_sizes choose_sizes(const bench_options *o)
{
    if (o->tiny)
        return (fst_sizes){.lines = {300},
                           .grammar_lines = 300,
                           .sentences = 10,
                           .figure_sentences = 10,
                           .letters = 2000,
                           .runs = 1,
                           .operation_runs = 1};
    if (o->quick)
        return (fst_sizes){.lines = {10000},
                           .grammar_lines = 10000,
                           .sentences = 100,
                           .figure_sentences = 200,
                           .letters = 100000,
                           .runs = 3,
                           .operation_runs = 1};
    return (fst_sizes){.lines = {1000, 10000, 100000, 150000},
                       .grammar_lines = 150000,
                       .sentences = 100,
                       .figure_sentences = 1000,
                       .letters = 1000000,
                       .runs = 5,
                       .operation_runs = 3};
}

static void describe(fst_bench *b)
{
    json_object_set_new(b->result, "text", json_string(b->corpus.synthetic ? "synthetic" : "europarl"));
    json_object_set_new(b->result, "peer", openfst() ? json_string(openfst()->name) : json_null());
    const char *tunables = getenv("GLIBC_TUNABLES");
    int large_pages = tunables && strstr(tunables, "glibc.malloc.hugetlb=1");
    json_object_set_new(b->result, "malloc_large_pages", json_boolean(large_pages));
    printf("  text: %s, %zu lines; peer: %s%s\n",
           b->corpus.synthetic ? "made up, Zipf's law (Europarl is not in ../shared/data/text, or --tiny was asked for)"
                               : "Europarl French-English",
           b->corpus.french.lines, openfst() ? openfst()->name : "none, libfst-dev was not there at configure time",
           large_pages ? ", in large pages" : "");
}

static int bench_run(const bench_options *options, json_t *result)
{
    fst_bench b = {.options = options, .result = result, .sizes = choose_sizes(options)};
    size_t most = b.sizes.grammar_lines;
    for (int i = 0; i < 4; i++)
        most = b.sizes.lines[i] > most ? b.sizes.lines[i] : most;
    fst_corpus_read(&b.corpus, most, options->tiny);
    describe(&b);
    fst_measure_operations(&b); /* first: child processes start with what their parent holds */
    fst_measure_translation(&b);
    fst_measure_letters(&b);
    fst_corpus_free(&b.corpus);
    return 0;
}

const bench bench_fst = {
    "fst", "transducers: [002]'s translation experiment by every method, operations on lexicon and grammar; OpenFst",
    bench_run};
