/* Reads Kaldi's GMM models, binary or text: topologies, triples, log probabilities, then a GMM for every pdf-id.
 *
 * Kaldi keeps 1 / variance and mean / variance; a trellis model keeps mean and variance. Both are float32, so the numbers that are
 * written back may differ from those that were read in the last bit.
 */
#include "model/kaldi_model.h"
#include "model/topology.h"
#include "model/unit_kind.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct reader {
    trl__kaldi_in in;
    trl_model *model;
    size_t units;
    size_t triple_capacity;
    trl_matrix weights, means, variances; /* of the GMM being read, as Kaldi has them */
    size_t gaussians;
    size_t weight_capacity, mean_capacity, variance_capacity;
} reader;

static int fail(reader *r, int code, const char *what)
{
    return trl__source_fail(r->in.source, r->in.err, code, "%s", what);
}

/* ---- Transition model ---- */

static int read_triple(reader *r, int tuples)
{
    trl_model *m = r->model;
    int32_t phone = 0, state = 0, pdf = 0, other;
    int code = trl__kaldi_int(&r->in, &phone);
    if (code == 0)
        code = trl__kaldi_int(&r->in, &state);
    if (code == 0)
        code = trl__kaldi_int(&r->in, &pdf);
    other = pdf;
    if (code == 0 && tuples)
        code = trl__kaldi_int(&r->in, &other);
    if (code < 0)
        return code;
    if (other != pdf)
        return fail(r, TRL_EUNSUPPORTED,
                    "a state with one pdf for entering it and another for staying (a chain model)");
    if (phone < 1 || (size_t)phone > r->units || state < 0 || state >= trl__unit_topology(m, phone - 1)->states)
        return fail(r, TRL_EFORMAT, "a phone or state that the topology does not have");
    if (m->triples == INT32_MAX || TRL_GROW(m->triple, r->triple_capacity, (size_t)m->triples + 1) < 0)
        return trl__fail_memory(r->in.err);
    m->triple[m->triples] = (trl__triple){.unit = phone - 1, .state = state, .tied = pdf, .pool = m->triples};
    m->triples++;
    return 0;
}

static int read_triples(reader *r)
{
    char token[TRL__KALDI_TOKEN], end[TRL__KALDI_TOKEN + 1];
    int32_t count = 0;
    int code = trl__kaldi_token(&r->in, token);
    int tuples = code == 0 && strcmp(token, "<Tuples>") == 0;
    if (code == 0 && !tuples && strcmp(token, "<Triples>") != 0)
        return fail(r, TRL_EFORMAT, "expected <Triples> or <Tuples>");
    snprintf(end, sizeof end, "</%s>", tuples ? "Tuples" : "Triples");
    if (code == 0)
        code = trl__kaldi_int(&r->in, &count);
    for (int32_t i = 0; code == 0 && i < count; i++)
        code = read_triple(r, tuples);
    return code < 0 ? code : trl__kaldi_expect(&r->in, end);
}

static int read_probabilities(reader *r)
{
    trl_model *m = r->model;
    int code = trl__kaldi_expect(&r->in, "<LogProbs>");
    if (code == 0)
        code = trl__kaldi_matrix(&r->in, &r->weights);
    if (code < 0)
        return code;
    size_t count = (size_t)trl__model_count_transitions(m) + 1;
    if (r->weights.rows != 1 || r->weights.cols != count)
        return trl__source_fail(r->in.source, r->in.err, TRL_EFORMAT,
                                "%zu log probabilities, where the topology has %zu transitions", r->weights.cols,
                                count - 1);
    m->log_probability = trl__alloc(count, sizeof *m->log_probability);
    if (!m->log_probability)
        return trl__fail_memory(r->in.err);
    memcpy(m->log_probability, r->weights.data, count * sizeof *m->log_probability);
    m->log_probability[0] = 0;
    return trl__kaldi_expect(&r->in, "</LogProbs>");
}

static int read_transition_model(reader *r)
{
    trl_model *m = r->model;
    int code = trl__kaldi_expect(&r->in, "<TransitionModel>");
    if (code == 0)
        code = trl__kaldi_topology_read(&r->in, m, &m->unit_topology, &r->units);
    if (code == 0)
        code = read_triples(r);
    if (code == 0)
        code = read_probabilities(r);
    return code < 0 ? code : trl__kaldi_expect(&r->in, "</TransitionModel>");
}

/* ---- Mixtures ---- */

/* The three of a GMM; <GCONSTS> follow from them and are passed over. */
static int read_gmm(reader *r)
{
    char token[TRL__KALDI_TOKEN];
    int code = trl__kaldi_expect(&r->in, "<DiagGMM>");
    if (code == 0)
        code = trl__kaldi_token(&r->in, token);
    if (code == 0 && strcmp(token, "<GCONSTS>") == 0) {
        code = trl__kaldi_matrix(&r->in, &r->weights);
        if (code == 0)
            code = trl__kaldi_token(&r->in, token);
    }
    if (code == 0 && strcmp(token, "<WEIGHTS>") != 0)
        return fail(r, TRL_EFORMAT, "expected <WEIGHTS>");
    if (code == 0)
        code = trl__kaldi_matrix(&r->in, &r->weights);
    if (code == 0)
        code = trl__kaldi_expect(&r->in, "<MEANS_INVVARS>");
    if (code == 0)
        code = trl__kaldi_matrix(&r->in, &r->means);
    if (code == 0)
        code = trl__kaldi_expect(&r->in, "<INV_VARS>");
    if (code == 0)
        code = trl__kaldi_matrix(&r->in, &r->variances);
    return code < 0 ? code : trl__kaldi_expect(&r->in, "</DiagGMM>");
}

static int add_gmm(reader *r)
{
    trl_model *m = r->model;
    size_t count = r->weights.cols, dim = (size_t)m->dim, all = r->gaussians + count;
    if (r->weights.rows != 1 || r->means.rows != count || r->variances.rows != count || r->means.cols != dim ||
        r->variances.cols != dim)
        return fail(r, TRL_EFORMAT, "the weights, means and variances of a GMM do not fit together");
    if (all >= INT32_MAX || TRL_GROW(m->log_weight, r->weight_capacity, all) < 0 ||
        TRL_GROW(m->mean, r->mean_capacity, all * dim) < 0 ||
        TRL_GROW(m->variance, r->variance_capacity, all * dim) < 0)
        return trl__fail_memory(r->in.err);
    for (size_t c = 0; c < count; c++) {
        size_t g = r->gaussians + c;
        m->log_weight[g] = (float)log((double)trl_matrix_row(&r->weights, 0)[c]);
        const float *means = trl_matrix_row(&r->means, c), *inverse = trl_matrix_row(&r->variances, c);
        for (size_t k = 0; k < dim; k++) {
            m->mean[g * dim + k] = (float)((double)means[k] / (double)inverse[k]);
            m->variance[g * dim + k] = (float)(1 / (double)inverse[k]);
        }
    }
    r->gaussians = all;
    return 0;
}

static int read_mixtures(reader *r)
{
    trl_model *m = r->model;
    char token[TRL__KALDI_TOKEN];
    size_t capacity = 0;
    int32_t pdfs = 0;
    int code = trl__kaldi_token(&r->in, token);
    if (code == 0 && strcmp(token, "<DIMENSION>") != 0)
        return trl__source_fail(r->in.source, r->in.err, TRL_EUNSUPPORTED,
                                "expected <DIMENSION> and GMMs, found %s: only GMM models can be read", token);
    if (code == 0)
        code = trl__kaldi_int(&r->in, &m->dim);
    if (code == 0 && (m->dim < 1 || m->dim > 65536))
        return fail(r, TRL_EFORMAT, "the dimension must be from 1 to 65536");
    if (code == 0)
        code = trl__kaldi_expect(&r->in, "<NUMPDFS>");
    if (code == 0)
        code = trl__kaldi_int(&r->in, &pdfs);
    for (int32_t j = 0; code == 0 && j < pdfs; j++) {
        code = read_gmm(r);
        if (code == 0 && TRL_GROW(m->first_gaussian, capacity, (size_t)j + 2) < 0)
            return trl__fail_memory(r->in.err);
        if (code == 0)
            m->first_gaussian[j] = (int32_t)r->gaussians;
        if (code == 0)
            code = add_gmm(r);
        if (code == 0)
            m->first_gaussian[++m->tied_states] = (int32_t)r->gaussians;
    }
    if (code == 0 && pdfs < 1)
        return fail(r, TRL_EFORMAT, "a model without GMMs");
    return code < 0 ? code : trl__kaldi_end(&r->in);
}

/* ---- Names ---- */

/* Lines `name number`; 0 is <eps>, numbers above the phones' are disambiguation symbols. */
static int read_names(trl__text *phones, const char *file, const char **names, size_t units, trl_error *err)
{
    char *line;
    size_t length;
    while (trl__text_line(phones, &line, &length)) {
        char *cursor = line, *name = trl__next_field(&cursor), *field = name ? trl__next_field(&cursor) : NULL;
        int64_t number;
        if (!name)
            continue;
        if (!field || trl__parse_int(field, &number) < 0 || number < 0)
            return trl__fail_line(err, TRL_EFORMAT, file, phones->line, "expected a phone and its number");
        if (number < 1 || (uint64_t)number > units)
            continue;
        if (names[number - 1])
            return trl__fail_line(err, TRL_EFORMAT, file, phones->line, "phone %" PRId64 " has two names: %s and %s",
                                  number, names[number - 1], name);
        names[number - 1] = name;
    }
    for (size_t u = 0; u < units; u++)
        if (!names[u])
            return trl__fail(err, TRL_EFORMAT, "%s: phone %zu of the model has no name", file, u + 1);
    return 0;
}

static int add_names(reader *r, const char *const *names, const char *file)
{
    trl_model *m = r->model;
    for (size_t u = 0; u < r->units; u++) {
        char number[32];
        snprintf(number, sizeof number, "phone%zu", u + 1);
        const char *name = names[u] ? names[u] : number;
        long place = trl__strings_add(&m->units, name, strlen(name));
        if (place < 0)
            return trl__fail_memory(r->in.err);
        if ((size_t)place != u)
            return trl__fail(r->in.err, TRL_EFORMAT, "%s: phone %zu and phone %ld have the same name, %s", file, u + 1,
                             place + 1, name);
        m->unit_kind[u] = (uint8_t)trl__unit_kind_of_name(name);
    }
    return trl__find_word_positions(m, r->in.err);
}

static int name_units(reader *r, trl__text *phones, const char *file)
{
    trl_model *m = r->model;
    const char **names = trl__alloc_zero(r->units, sizeof *names);
    m->unit_kind = trl__alloc_zero(r->units, sizeof *m->unit_kind);
    int code = names && m->unit_kind ? 0 : trl__fail_memory(r->in.err);
    if (code == 0 && phones)
        code = read_names(phones, file, names, r->units, r->in.err);
    if (code == 0)
        code = add_names(r, names, file);
    trl__free(names);
    return code;
}

/* ---- The model ---- */

static int depends_on_context(const trl_model *m)
{
    for (int32_t i = 1; i < m->triples; i++)
        if (m->triple[i].unit == m->triple[i - 1].unit && m->triple[i].state == m->triple[i - 1].state)
            return 1;
    return 0;
}

static int read_all(reader *r, trl__source *source, trl__text *phones, const char *phones_name, trl__source *tree,
                    trl_error *err)
{
    trl_model *m = r->model;
    int code = trl__kaldi_begin(&r->in, source, err);
    if (code == 0)
        code = read_transition_model(r);
    if (code == 0)
        code = read_mixtures(r);
    if (code == 0)
        code = name_units(r, phones, phones_name);
    if (code == 0 && tree)
        code = trl__kaldi_tree_read(tree, m, &m->tree, err);
    if (code == 0 && !depends_on_context(m)) { /* then a tree that fits tells nothing */
        trl__tree_destroy(m->tree);
        m->tree = NULL;
    }
    if (code == 0)
        code = trl__model_set_text(&m->provenance, "read from a Kaldi model\n", err);
    return code < 0 ? code : trl__model_finish(m, source->name, err);
}

int trl__kaldi_model_read(trl__source *source, trl__text *phones, const char *phones_name, trl__source *tree,
                          trl_model **out, trl_error *err)
{
    reader r = {0};
    int code = trl__model_new(1, &r.model, err); /* the dimension comes late in the file */
    if (code < 0)
        return code;
    code = read_all(&r, source, phones, phones_name, tree, err);
    trl_matrix_free(&r.weights);
    trl_matrix_free(&r.means);
    trl_matrix_free(&r.variances);
    if (code < 0)
        trl_model_destroy(r.model);
    else
        *out = r.model;
    return code;
}

/* The tree beside the model, if there is one. */
static int open_tree(const char *mdl, trl__source *tree, int *found, trl_error *err)
{
    struct stat status;
    char *path = trl__path_beside(mdl, "tree");
    if (!path)
        return trl__fail_memory(err);
    *found = stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
    int code = *found ? trl__source_open(path, tree, err) : 0;
    trl__free(path);
    return code;
}

int trl_model_read_kaldi(const char *mdl, const char *phones, trl_model **out, trl_error *err)
{
    trl__source source, tree;
    trl__text names = {0};
    int has_tree = 0;
    *out = NULL;
    int code = trl__source_open(mdl, &source, err);
    if (code < 0)
        return code;
    code = open_tree(mdl, &tree, &has_tree, err);
    if (code < 0) {
        trl__source_close(&source);
        return code;
    }
    if (phones)
        code = trl__text_read(phones, &names, err);
    if (code == 0)
        code = trl__kaldi_model_read(&source, phones ? &names : NULL, phones, has_tree ? &tree : NULL, out, err);
    trl__text_free(&names);
    if (has_tree)
        trl__source_close(&tree);
    trl__source_close(&source);
    return code;
}
