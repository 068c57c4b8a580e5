/* Operations on lexicon ∘ grammar, ours and OpenFst's by turns, each on the same machine: L ∘ G is composed,
 * determinized, minimized, then, with the marks that made this possible taken out, freed of epsilons; the best path is
 * sought in L ∘ G.
 *
 * Times are wall seconds, the best of the runs; what is changed in place is copied before, uncounted. Memory is what an
 * operation needs at most besides its input, measured in a child process: its peak while it works less what it held
 * when it began. Results are compared by the weights of random paths. */
#include "base/memory.h"
#include "fst_bench.h"
#include "fst_grammar.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trellis/fst_compose.h>
#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>
#include <unistd.h>

enum { SAMPLED_PATHS = 20, MOST_RUNS = 50 };
#define ENOUGH_SECONDS 0.1 /* quick operations are run more often */
static const char *const names[PEER_OPERATIONS] = {"compose", "determinize", "minimize", "rmepsilon", "shortestpath"};

/* ---- Ours and theirs ---- */

static trl_fst *operate(peer_operation operation, const trl_fst *a, const trl_fst *b, void (*begins)(void),
                        double *seconds)
{
    trl_error err;
    trl_fst *out = NULL;
    trl_compose_options compose = trl_compose_defaults();
    trl_shortestpath_options best = {.paths = 1};
    int code = 0;
    if (operation == PEER_MINIMIZE || operation == PEER_RMEPSILON)
        bench_check(trl_fst_copy(a, &out, &err), &err);
    if (begins)
        begins();
    double start = bench_wall_seconds();
    switch (operation) {
    case PEER_COMPOSE: code = trl_fst_compose(a, b, &compose, &out, &err); break;
    case PEER_DETERMINIZE: code = trl_fst_determinize(a, NULL, &out, &err); break;
    case PEER_MINIMIZE: code = trl_fst_minimize(out, NULL, &err); break;
    case PEER_RMEPSILON: code = trl_fst_rmepsilon(out, NULL, &err); break;
    case PEER_SHORTESTPATH: code = trl_fst_shortestpath(a, &best, &out, &err); break;
    }
    *seconds = bench_wall_seconds() - start;
    bench_check(code, &err);
    return out;
}

static peer_fst *to_peer(const trl_fst *fst)
{
    peer_arc *arcs = NULL;
    size_t capacity = 0;
    peer_fst *peer = openfst()->create(trl_fst_states(fst), trl_fst_start(fst));
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        uint32_t count = trl_fst_arc_count(fst, s);
        if (TRL_GROW(arcs, capacity, count) < 0)
            fst_must(NULL);
        for (uint32_t i = 0; i < count; i++) {
            trl_arc arc = trl_fst_arc(fst, s, i);
            arcs[i] = (peer_arc){arc.ilabel, arc.olabel, arc.weight.value, arc.next};
        }
        trl_weight final = trl_fst_final(fst, s);
        openfst()->fill(peer, s, arcs, count, trl_weight_is_zero(TRL_TROPICAL, final) ? INFINITY : final.value);
    }
    trl__free(arcs);
    return peer;
}

/* ---- Memory ---- */

static double status_mb(const char *field)
{
    char line[256];
    double kilobytes = NAN;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kilobytes = strtod(line + strlen(field), NULL);
    if (file)
        fclose(file);
    return kilobytes / 1024;
}

static double held_mb;

/* Gives back what is free, so that new memory is seen to be new, and forgets the peak so far. */
static void note_memory(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    held_mb = status_mb("VmRSS:");
}

/* Of OpenFst's where `theirs` has the inputs, else of ours. */
static double peak_mb(peer_operation operation, const trl_fst *ours[2], peer_fst *theirs[2])
{
    double mb = NAN, seconds;
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return NAN;
    pid_t child = fork();
    if (child == 0) {
        if (theirs)
            openfst()->operate(operation, theirs[0], theirs[1], note_memory, &seconds);
        else
            operate(operation, ours[0], ours[1], note_memory, &seconds);
        mb = status_mb("VmHWM:") - held_mb;
        _exit(write(ends[1], &mb, sizeof mb) == sizeof mb ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &mb, sizeof mb) != sizeof mb)
        mb = NAN;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return mb;
}

/* ---- One operation ---- */

typedef struct sums {
    double ours, theirs; /* seconds */
    int slower, larger;  /* operations where we are so */
} sums;

static void check_same(const trl_fst *ours, const peer_fst *theirs, const char *name)
{
    peer_fst *converted = to_peer(ours);
    if (!openfst()->equivalent(converted, theirs, SAMPLED_PATHS)) {
        fprintf(stderr, "trellis-bench: %s: our machine does not mean what OpenFst's does\n", name);
        exit(3);
    }
    openfst()->destroy(converted);
}

static json_t *report_line(const char *name, const double seconds[2], const double mb[2], const trl_fst *ours,
                           const peer_fst *theirs)
{
    json_t *line = json_pack("{s:s, s:f, s:I, s:I}", "operation", name, "seconds", seconds[0], "states",
                             (json_int_t)trl_fst_states(ours), "arcs", (json_int_t)trl_fst_arcs(ours));
    json_object_set_new(line, "peak_mb", isfinite(mb[0]) ? json_real(mb[0]) : json_null());
    printf("  %-14s %10.4f s %10.1f MB, %9d states %10llu arcs", name, seconds[0], mb[0], trl_fst_states(ours),
           (unsigned long long)trl_fst_arcs(ours));
    if (theirs) {
        json_object_set_new(line, "openfst_seconds", json_real(seconds[1]));
        json_object_set_new(line, "openfst_peak_mb", isfinite(mb[1]) ? json_real(mb[1]) : json_null());
        json_object_set_new(line, "openfst_states", json_integer(openfst()->states(theirs)));
        json_object_set_new(line, "openfst_arcs", json_integer((json_int_t)openfst()->arcs(theirs)));
        printf("; OpenFst %10.4f s (%5.2f x) %10.1f MB, %9d states %10llu arcs", seconds[1], seconds[1] / seconds[0],
               mb[1], openfst()->states(theirs), (unsigned long long)openfst()->arcs(theirs));
    }
    putchar('\n');
    return line;
}

/* Returns our result. */
static trl_fst *measure(const fst_bench *b, peer_operation operation, const trl_fst *first, const trl_fst *second,
                        json_t *list, sums *sum)
{
    const trl_fst *ours[2] = {first, second};
    peer_fst *theirs[2] = {openfst() ? to_peer(first) : NULL, openfst() && second ? to_peer(second) : NULL};
    peer_fst *their_result = NULL;
    trl_fst *result = NULL;
    double seconds[2] = {INFINITY, INFINITY}, now, spent = 0;
    double mb[2] = {peak_mb(operation, ours, NULL), theirs[0] ? peak_mb(operation, ours, theirs) : NAN};
    for (int run = 0; run < b->sizes.operation_runs || (run < MOST_RUNS && spent < ENOUGH_SECONDS); run++) {
        trl_fst_destroy(result);
        result = operate(operation, first, second, NULL, &now);
        seconds[0] = fmin(seconds[0], now);
        spent += now;
        if (theirs[0]) {
            openfst()->destroy(their_result);
            their_result = openfst()->operate(operation, theirs[0], theirs[1], NULL, &now);
            seconds[1] = fmin(seconds[1], now);
        }
    }
    json_array_append_new(list, report_line(names[operation], seconds, mb, result, their_result));
    if (their_result) {
        check_same(result, their_result, names[operation]);
        sum->slower += seconds[0] > seconds[1];
        sum->larger += mb[0] > mb[1];
        sum->theirs += seconds[1];
        openfst()->destroy(their_result);
        openfst()->destroy(theirs[0]);
        openfst()->destroy(theirs[1]);
    }
    sum->ours += seconds[0];
    return result;
}

/* ---- All of them ---- */

/* Marks become epsilon on both sides. */
static trl_fst *without_marks(const trl_fst *fst, const fst_grammar *g)
{
    trl_error err;
    trl_fst *out;
    bench_check(trl_fst_create(TRL_TROPICAL, &out, &err), &err);
    bench_check(trl_fst_add_states(out, trl_fst_states(fst), &err), &err);
    bench_check(trl_fst_set_start(out, trl_fst_start(fst), &err), &err);
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc arc = trl_fst_arc(fst, s, i);
            arc.ilabel = arc.ilabel >= fst_grammar_phones_end(g) ? TRL_EPSILON : arc.ilabel;
            arc.olabel = arc.olabel >= fst_grammar_words_end(g) ? TRL_EPSILON : arc.olabel;
            bench_check(trl_fst_add_arc(out, s, arc, &err), &err);
        }
        bench_check(trl_fst_set_final(out, s, trl_fst_final(fst, s), &err), &err);
    }
    return out;
}

static void measure_task(const fst_bench *b, const char *name, const fst_grammar *g, json_t *tasks, sums *sum)
{
    json_t *list = json_array();
    printf("  %s: lexicon of %d states, %llu arcs; grammar of %d states, %llu arcs; wall time and memory besides the "
           "input\n",
           name, trl_fst_states(g->lexicon), (unsigned long long)trl_fst_arcs(g->lexicon), trl_fst_states(g->grammar),
           (unsigned long long)trl_fst_arcs(g->grammar));
    trl_fst *composed = measure(b, PEER_COMPOSE, g->lexicon, g->grammar, list, sum);
    trl_fst *determinized = measure(b, PEER_DETERMINIZE, composed, NULL, list, sum);
    trl_fst *minimized = measure(b, PEER_MINIMIZE, determinized, NULL, list, sum);
    trl_fst_destroy(determinized);
    trl_fst *unmarked = without_marks(minimized, g);
    trl_fst_destroy(minimized);
    trl_fst_destroy(measure(b, PEER_RMEPSILON, unmarked, NULL, list, sum));
    trl_fst_destroy(unmarked);
    trl_fst_destroy(measure(b, PEER_SHORTESTPATH, composed, NULL, list, sum));
    trl_fst_destroy(composed);
    json_object_set_new(tasks, name, list);
}

void fst_measure_operations(fst_bench *b)
{
    fst_grammar an4 = {0}, large = {0};
    json_t *tasks = json_object();
    sums sum = {0};
    int made_up;
    if (fst_grammar_an4(&an4))
        measure_task(b, "an4", &an4, tasks, &sum);
    else
        printf("  AN4 is not in ../shared/data/an4: its lexicon and grammar are left out\n");
    fst_grammar_free(&an4);
    fst_grammar_text(&large, &b->corpus, b->sizes.grammar_lines, &made_up);
    measure_task(b, made_up ? "made_up" : "cmudict_europarl", &large, tasks, &sum);
    fst_grammar_free(&large);
    json_object_set_new(b->result, "operations", tasks);
    if (sum.theirs > 0) {
        bench_report(b->result, "ops_sum_vs_openfst", sum.theirs / sum.ours, "x",
                     "OpenFst's seconds for all of these over ours");
        bench_report(b->result, "ops_slower_than_openfst", sum.slower, "", "operations that take us longer");
        bench_report(b->result, "ops_larger_than_openfst", sum.larger, "", "operations that take us more memory");
    } else
        bench_absent(b->result, "ops_sum_vs_openfst", "libfst-dev was not installed when this was configured");
}
