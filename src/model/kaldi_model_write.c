/* Writes a model in Kaldi's form: final.mdl, tree and phones.txt in a folder. */
#include "model/kaldi_model.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_TWO_PI 1.8378770664093454836

/* float where Kaldi has float and double where it has double: so do the same numbers give the same bits. */
float trl__kaldi_constant(float weight, const float *mean_by_variance, const float *inverse_variance, int32_t dim)
{
    float constant = logf(weight) + (float)(-0.5 * LOG_TWO_PI * dim);
    for (int32_t k = 0; k < dim; k++) {
        double m = (double)mean_by_variance[k];
        constant = (float)((double)constant + 0.5 * (double)logf(inverse_variance[k]) -
                           0.5 * m * m / (double)inverse_variance[k]);
    }
    return constant;
}

/* ---- final.mdl ---- */

static void put_transition_model(trl__kaldi_out *out, const trl_model *m)
{
    trl__kaldi_put_token(out, "<TransitionModel>");
    trl__kaldi_put_line_end(out);
    trl__kaldi_topology_write(out, m);
    trl__kaldi_put_token(out, "<Triples>");
    trl__kaldi_put_int(out, m->triples);
    trl__kaldi_put_line_end(out);
    for (int32_t i = 0; out->code == 0 && i < m->triples; i++) {
        trl__kaldi_put_int(out, m->triple[i].unit + 1);
        trl__kaldi_put_int(out, m->triple[i].state);
        trl__kaldi_put_int(out, m->triple[i].tied);
        trl__kaldi_put_line_end(out);
    }
    trl__kaldi_put_token(out, "</Triples>");
    trl__kaldi_put_line_end(out);
    trl__kaldi_put_token(out, "<LogProbs>");
    trl__kaldi_put_line_end(out);
    trl__kaldi_put_vector(out, m->log_probability, (size_t)m->transitions + 1);
    trl__kaldi_put_token(out, "</LogProbs>");
    trl__kaldi_put_line_end(out);
    trl__kaldi_put_token(out, "</TransitionModel>");
    trl__kaldi_put_line_end(out);
}

/* Room for the largest mixture in Kaldi's form. */
typedef struct gmm {
    float *constants, *weights, *means, *inverses;
} gmm;

static int alloc_gmm(const trl_model *m, gmm *g, trl_error *err)
{
    size_t most = 0, dim = (size_t)m->dim;
    for (int32_t j = 0; j < m->tied_states; j++) {
        size_t count = (size_t)(m->first_gaussian[j + 1] - m->first_gaussian[j]);
        most = count > most ? count : most;
    }
    g->constants = trl__alloc(most, sizeof *g->constants);
    g->weights = trl__alloc(most, sizeof *g->weights);
    g->means = trl__alloc(most * dim, sizeof *g->means);
    g->inverses = trl__alloc(most * dim, sizeof *g->inverses);
    return g->constants && g->weights && g->means && g->inverses ? 0 : trl__fail_memory(err);
}

static void free_gmm(gmm *g)
{
    trl__free(g->constants);
    trl__free(g->weights);
    trl__free(g->means);
    trl__free(g->inverses);
}

static void convert(const trl_model *m, int32_t tied, gmm *out)
{
    size_t first = (size_t)m->first_gaussian[tied], dim = (size_t)m->dim;
    size_t count = (size_t)m->first_gaussian[tied + 1] - first;
    for (size_t c = 0; c < count; c++) {
        const float *mean = m->mean + (first + c) * dim, *variance = m->variance + (first + c) * dim;
        float *means = out->means + c * dim, *inverses = out->inverses + c * dim;
        for (size_t k = 0; k < dim; k++) {
            inverses[k] = (float)(1 / (double)variance[k]);
            means[k] = (float)((double)mean[k] * (double)inverses[k]);
        }
        out->weights[c] = (float)exp((double)m->log_weight[first + c]);
        out->constants[c] = trl__kaldi_constant(out->weights[c], means, inverses, m->dim);
    }
}

static void put_mixture(trl__kaldi_out *out, const trl_model *m, int32_t tied, gmm *g)
{
    size_t count = (size_t)(m->first_gaussian[tied + 1] - m->first_gaussian[tied]), dim = (size_t)m->dim;
    convert(m, tied, g);
    trl__kaldi_put_token(out, "<DiagGMM>");
    trl__kaldi_put_line_end(out);
    trl__kaldi_put_token(out, "<GCONSTS>");
    trl__kaldi_put_vector(out, g->constants, count);
    trl__kaldi_put_token(out, "<WEIGHTS>");
    trl__kaldi_put_vector(out, g->weights, count);
    trl__kaldi_put_token(out, "<MEANS_INVVARS>");
    trl__kaldi_put_matrix(out, g->means, count, dim);
    trl__kaldi_put_token(out, "<INV_VARS>");
    trl__kaldi_put_matrix(out, g->inverses, count, dim);
    trl__kaldi_put_token(out, "</DiagGMM>");
    trl__kaldi_put_line_end(out);
}

static int put_mixtures(trl__kaldi_out *out, const trl_model *m)
{
    gmm g = {0};
    int code = alloc_gmm(m, &g, out->err);
    trl__kaldi_put_token(out, "<DIMENSION>");
    trl__kaldi_put_int(out, m->dim);
    trl__kaldi_put_token(out, "<NUMPDFS>");
    trl__kaldi_put_int(out, m->tied_states);
    for (int32_t j = 0; code == 0 && out->code == 0 && j < m->tied_states; j++)
        put_mixture(out, m, j, &g);
    free_gmm(&g);
    return code < 0 ? code : out->code;
}

/* Kaldi's phones begin in state 0. */
static int check_entries(const trl_model *m, trl_error *err)
{
    if (m->shared)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "codebooks that tied states share (tied mixtures) can't be written as a model of Kaldi");
    for (size_t u = 0; u < m->units.count; u++) {
        const trl__topology *t = trl__unit_topology(m, (int32_t)u);
        if (t->first[1] != 1 || t->arcs[0].to != 0)
            return trl__fail(
                err, TRL_EUNSUPPORTED,
                "unit %s can be entered elsewhere than at its first state, or skipped; Kaldi's phones can't",
                m->units.texts[u]);
    }
    return 0;
}

int trl__kaldi_model_write(const trl_model *m, const char *path, int binary, trl_error *err)
{
    trl__kaldi_out out = {.text = !binary, .err = err};
    int code = check_entries(m, err);
    if (code == 0)
        code = trl_file_create(path, &out.file, err);
    if (code < 0)
        return code;
    trl__kaldi_put_mark(&out);
    put_transition_model(&out, m);
    code = put_mixtures(&out, m);
    if (code == 0)
        return trl_file_commit(out.file, err);
    trl_file_abort(out.file);
    return code;
}

/* ---- phones.txt ---- */

int trl__kaldi_phones_write(const trl_model *m, const char *path, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    code = trl_file_print(file, err, "<eps> 0\n");
    for (size_t u = 0; code == 0 && u < m->units.count; u++)
        code = trl_file_print(file, err, "%s %zu\n", m->units.texts[u], u + 1);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

/* ---- The folder ---- */

static int write_files(const trl_model *m, const char *folder, int binary, trl__arena *arena, trl_error *err)
{
    const char *mdl = trl__join_path(arena, folder, "final.mdl"), *tree = trl__join_path(arena, folder, "tree");
    const char *phones = trl__join_path(arena, folder, "phones.txt");
    if (!mdl || !tree || !phones)
        return trl__fail_memory(err);
    int code = trl__kaldi_tree_write(m, tree, binary, err);
    if (code == 0)
        code = trl__kaldi_phones_write(m, phones, err);
    return code < 0 ? code : trl__kaldi_model_write(m, mdl, binary, err);
}

int trl_model_write_kaldi(const trl_model *model, const char *folder, int binary, trl_error *err)
{
    trl__arena arena = {0};
    int code = check_entries(model, err);
    if (code < 0)
        return code;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return trl__fail_errno(err, folder, "can't make the folder");
    code = write_files(model, folder, binary, &arena, err);
    trl__arena_free(&arena);
    return code;
}
