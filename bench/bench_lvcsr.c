/* Large vocabularies: accuracy against speed, and memory, beside pocketsphinx; threads, likelihoods ahead of time. */
#include "lvcsr_bench.h"

#include <stdio.h>
#include <string.h>

static const lvcsr_part *const parts[] = {&lvcsr_english, &lvcsr_states, &lvcsr_synth};

static void run_part(lvcsr_bench *b, const lvcsr_part *part)
{
    printf(" %s\n", part->name);
    const char *why = part->measure(b);
    for (const char *const *key = part->keys; *key; key++)
        if (!json_object_get(b->result, *key)) {
            bench_absent(b->result, *key, why ? why : "");
            why = NULL;
        }
}

static int bench_run(const bench_options *options, json_t *result)
{
    lvcsr_bench b = {.options = options, .result = result};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!options->corpus || strcmp(options->corpus, parts[i]->name) == 0)
            run_part(&b, parts[i]);
    lvcsr_print_curves(&b);
    return 0;
}

const bench bench_lvcsr = {
    "lvcsr", "large vocabularies: word errors against speed and memory, beside pocketsphinx; threads and look-ahead",
    bench_run};
