/* Kaldi's HCLG of AN4 (monophones, any words in any order) as a graph, and one that is built from Kaldi's model, its
 * grammar and the same lexicon: best paths through both cost the same and have the same words, with the likelihoods
 * that Kaldi computed. */
#include "cmocka_test.h"
#include "decode/graph_data.h"
#include "model/kaldi_io.h"
#include "model/model_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <trellis/fst_file.h>
#include <trellis/fst_optimize.h>

#define UTTERANCES 3

static trl_error err;

static const char *shared(const char *name)
{
    static char paths[8][1000];
    static unsigned next;
    const char *folder = getenv("TRELLIS_SHARED");
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : ".", name);
    return path;
}

static const char *golden(const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "golden/kaldi/an4-mono/%s", name);
    return shared(path);
}

static void must(int code)
{
    if (code < 0)
        fail_msg("%s", err.text);
}

static trl_model *read_model(void)
{
    struct stat status;
    trl_model *model;
    if (stat(golden("HCLG.fst"), &status) != 0) {
        print_message("skipped: there is no %s\n", golden("HCLG.fst"));
        skip();
    }
    must(trl_model_read_kaldi(golden("final.mdl"), golden("phones.txt"), &model, &err));
    return model;
}

static trl_fst *read_machine(const char *name)
{
    trl_fst *fst;
    trl_symbols *words;
    must(trl_symbols_read(golden("words.txt"), &words, &err));
    must(trl_fst_read(golden(name), &fst, &err));
    trl_fst_set_symbols(fst, trl_symbols_share(words), words);
    return fst;
}

static void same_as_the_machine(void **state)
{
    (void)state;
    trl_model *model = read_model();
    trl_fst *fst = read_machine("HCLG.fst"), *again;
    trl_graph *graph;
    int yes;
    must(trl_graph_from_fst(model, fst, &graph, &err));
    assert_int_equal(trl_graph_states(graph), 578);
    assert_int_equal(trl_graph_arcs(graph), 1298);
    must(trl_graph_fits(graph, model, &err));
    must(trl_graph_to_fst(graph, &again, &err));
    must(trl_fst_isomorphic(fst, again, 1e-6f, &yes, &err));
    assert_true(yes);
    trl_fst_destroy(again);
    trl_fst_destroy(fst);
    trl_graph_destroy(graph);
    trl_model_destroy(model);
}

/* ---- Best paths ---- */

typedef struct path {
    double cost;
    int words;      /* how many */
    uint64_t spelt; /* a hash of them */
} path;

static void improve(path *to, const path *from, double cost, int32_t word)
{
    if (!(cost < to->cost))
        return;
    *to = *from;
    to->cost = cost;
    if (word)
        to->spelt = to->spelt * 1000003 + (uint64_t)word;
    to->words += word != 0;
}

static void follow_epsilons(const trl_graph *g, path *now)
{
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t s = 0; s < g->states; s++)
            for (uint64_t i = g->first[s]; i < g->emitting[s]; i++) {
                const trl__network_arc *a = &g->arcs[i];
                double cost = now[s].cost + (double)a->cost;
                changed |= cost < now[a->next].cost;
                improve(&now[a->next], &now[s], cost, a->word);
            }
    }
}

static path best_path(const trl_graph *g, const trl_matrix *likelihoods, double scale)
{
    path *now = malloc((size_t)g->states * sizeof *now), *next = malloc((size_t)g->states * sizeof *next);
    path best = {INFINITY, 0, 0};
    for (int32_t s = 0; s < g->states; s++)
        now[s] = (path){s == g->start ? 0 : INFINITY, 0, 0};
    for (size_t t = 0; t < likelihoods->rows; t++) {
        follow_epsilons(g, now);
        for (int32_t s = 0; s < g->states; s++)
            next[s] = (path){INFINITY, 0, 0};
        for (int32_t s = 0; s < g->states; s++)
            for (uint64_t i = g->emitting[s]; i < g->first[s + 1]; i++) {
                const trl__network_arc *a = &g->arcs[i];
                double like = (double)trl_matrix_row(likelihoods, t)[g->tied[a->transition]];
                improve(&next[a->next], &now[s], now[s].cost + (double)a->cost - scale * like, a->word);
            }
        path *kept = now;
        now = next;
        next = kept;
    }
    follow_epsilons(g, now);
    for (int32_t s = 0; s < g->states; s++)
        improve(&best, &now[s], now[s].cost + (double)g->final[s], 0);
    free(now);
    free(next);
    return best;
}

static void same_best_paths(void **state)
{
    (void)state;
    static const double scales[] = {1, 0.1, 0.03};
    trl_model *model = read_model();
    trl_fst *hclg = read_machine("HCLG.fst"), *grammar = read_machine("G.fst");
    trl_lexicon *lexicon;
    trl_graph *theirs, *ours;
    trl__source source;
    trl__kaldi_in in = {&source, 0, &err};
    char id[TRL__KALDI_TOKEN];
    trl_matrix likelihoods = {0};
    must(trl_lexicon_read(shared("data/an4/lexicon.txt"), NULL, &lexicon, &err));
    must(trl_graph_from_fst(model, hclg, &theirs, &err));
    must(trl_graph_build(model, lexicon, grammar, NULL, &ours, NULL, &err));
    assert_true(trl_graph_states(ours) <= trl_graph_states(theirs));
    assert_true(trl_graph_arcs(ours) <= trl_graph_arcs(theirs));
    must(trl__source_open_packed(golden("likes3_mono.txt"), &source, &err));
    for (int u = 0; u < UTTERANCES; u++) {
        must(trl__kaldi_token(&in, id));
        must(trl__kaldi_matrix(&in, &likelihoods));
        for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
            path a = best_path(theirs, &likelihoods, scales[i]), b = best_path(ours, &likelihoods, scales[i]);
            if (!(fabs(a.cost - b.cost) < 0.02))
                fail_msg("%s, scale %g: %f instead of %f", id, scales[i], b.cost, a.cost);
            assert_int_equal(a.words, b.words);
            assert_true(a.spelt == b.spelt && a.words > 0);
        }
    }
    trl__source_close(&source);
    trl_matrix_free(&likelihoods);
    trl_graph_destroy(theirs);
    trl_graph_destroy(ours);
    trl_lexicon_destroy(lexicon);
    trl_fst_destroy(hclg);
    trl_fst_destroy(grammar);
    trl_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_machine),
        cmocka_unit_test(same_best_paths),
    };
    return RUN(tests);
}
