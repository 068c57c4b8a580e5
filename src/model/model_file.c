/* The model file: a container of kind "model", version 1; with a tree or mixtures for a first pass, version 2; with
 * codebooks, version 3.
 *
 *     model            16 bytes: i32 dimension, u32 word positions (0, 1), f32 probability of silence, u32 parts (1: a
 *                      tree, 2: mixtures for a first pass, 4: codebooks, or sums of these; 0 in version 1)
 *     frontend, lexicon, provenance, history      texts; empty: none
 *     units            names, each ended by a NUL
 *     unit_kinds       u8 per unit
 *     unit_topologies  i32 per unit
 *     topologies       i32: per topology the number of states, then of arcs that leave the entry and each state
 *     arcs             i32 to, f32 probability: topology after topology
 *     triples          i32 unit, state, tied state, pool
 *     transitions      f32 log probability, from id 1
 *     first_gaussian   i32 per tied state, and the end
 *     log_weights, means, variances      f32 per Gaussian, and per Gaussian and dimension
 *     tree, tree_roots, tree_nodes, set_names, sets      see tree_file.c
 *     indep_first, indep_weights, indep_means, indep_variances      like the four of the mixtures
 *
 *     shared           i32 codebooks, densities, best ones that count; f32 floor
 *     shared_streams, shared_books      i32 per stream: dimensions; per tied state: codebook
 *     shared_weights   f32 per tied state, stream and density: log weight
 *     shared_means, shared_vars      f32 per codebook, density and dimension. With codebooks the mixtures above are empty
 *
 * The mixtures are used where they lie in the mapped file; all else is small and copied. Reading costs one pass for
 * the checksums and one for the checks (model_finish.c).
 */
#include "model/model_data.h"
#include "model/topology.h"
#include "model/tree_file.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#define KIND "model"
#define VERSION 3

enum { HAS_TREE = 1, HAS_INDEPENDENT = 2, HAS_SHARED = 4 };

typedef struct file_header {
    int32_t dim;
    uint32_t word_positions;
    float silence_between;
    uint32_t parts;
} file_header;

typedef struct file_triple {
    int32_t unit, state, tied, pool;
} file_triple;

typedef struct file_shared {
    int32_t codebooks, densities, top;
    float floor;
} file_shared;

_Static_assert(sizeof(file_shared) == 16, "the file's layout is the struct's");
_Static_assert(sizeof(file_header) == 16 && sizeof(trl__arc) == 8 && sizeof(file_triple) == 16,
               "the file's layout is the structs'");

/* Sections of a set of mixtures. */
typedef struct mixture_names {
    const char *first, *weights, *means, *variances;
} mixture_names;

static const mixture_names own = {"first_gaussian", "log_weights", "means", "variances"},
                           independent = {"indep_first", "indep_weights", "indep_means", "indep_variances"};

/* ---- writing ---- */

static int write_texts(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    const char *const names[] = {"frontend", "lexicon", "provenance", "history"};
    const char *const texts[] = {trl_model_frontend(m), trl_model_lexicon(m), trl_model_provenance(m),
                                 trl_model_history(m)};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof names / sizeof *names; i++)
        code = trl__container_add(writer, names[i], texts[i], strlen(texts[i]), err);
    return code;
}

static int write_units(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    int code = trl__container_begin(writer, "units", 0, err);
    for (size_t u = 0; code == 0 && u < m->units.count; u++)
        code = trl__container_write(writer, m->units.texts[u], strlen(m->units.texts[u]) + 1, err);
    if (code == 0)
        code = trl__container_add(writer, "unit_kinds", m->unit_kind, m->units.count, err);
    return code < 0 ? code
                    : trl__container_add(writer, "unit_topologies", m->unit_topology,
                                         m->units.count * sizeof *m->unit_topology, err);
}

static int write_topologies(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    int code = trl__container_begin(writer, "topologies", 0, err);
    for (int32_t i = 0; code == 0 && i < m->topologies; i++) {
        const trl__topology *t = &m->topology[i];
        code = trl__container_write(writer, &t->states, sizeof t->states, err);
        for (int32_t source = TRL_ENTRY; code == 0 && source < t->states; source++) {
            int32_t arcs = trl__arcs_of(t, source);
            code = trl__container_write(writer, &arcs, sizeof arcs, err);
        }
    }
    if (code == 0)
        code = trl__container_begin(writer, "arcs", 0, err);
    for (int32_t i = 0; code == 0 && i < m->topologies; i++) {
        const trl__topology *t = &m->topology[i];
        code = trl__container_write(writer, t->arcs, (size_t)t->first[t->states + 1] * sizeof *t->arcs, err);
    }
    return code;
}

static int write_transitions(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    int code = trl__container_begin(writer, "triples", 0, err);
    for (int32_t i = 0; code == 0 && i < m->triples; i++) {
        const trl__triple *t = &m->triple[i];
        const file_triple triple = {t->unit, t->state, t->tied, t->pool};
        code = trl__container_write(writer, &triple, sizeof triple, err);
    }
    return code < 0 ? code
                    : trl__container_add(writer, "transitions", m->log_probability + 1,
                                         (size_t)m->transitions * sizeof *m->log_probability, err);
}

static int write_mixtures(const trl_model *m, const mixture_names *names, trl__container_writer *writer, trl_error *err)
{
    size_t gaussians = (size_t)trl_model_gaussians(m) * sizeof(float), numbers = gaussians * (size_t)m->dim;
    int code = trl__container_add(writer, names->first, m->first_gaussian,
                                  ((size_t)m->tied_states + 1) * sizeof *m->first_gaussian, err);
    if (code == 0)
        code = trl__container_add(writer, names->weights, m->log_weight, gaussians, err);
    if (code == 0)
        code = trl__container_add(writer, names->means, m->mean, numbers, err);
    return code < 0 ? code : trl__container_add(writer, names->variances, m->variance, numbers, err);
}

static int write_shared(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    const trl__shared_mixtures *s = m->shared;
    const file_shared header = {s->codebooks, s->densities, s->top, s->floor};
    size_t numbers = (size_t)s->codebooks * (size_t)s->densities * (size_t)m->dim * sizeof(float);
    size_t weights = (size_t)m->tied_states * (size_t)s->streams * (size_t)s->densities * sizeof(float);
    int code = trl__container_add(writer, "shared", &header, sizeof header, err);
    if (code == 0)
        code = trl__container_add(writer, "shared_streams", s->stream_dim, (size_t)s->streams * sizeof *s->stream_dim,
                                  err);
    if (code == 0)
        code =
            trl__container_add(writer, "shared_books", s->codebook, (size_t)m->tied_states * sizeof *s->codebook, err);
    if (code == 0)
        code = trl__container_add(writer, "shared_weights", s->log_weight, weights, err);
    if (code == 0)
        code = trl__container_add(writer, "shared_means", s->mean, numbers, err);
    return code < 0 ? code : trl__container_add(writer, "shared_vars", s->variance, numbers, err);
}

static int write_sections(const trl_model *m, trl__container_writer *writer, trl_error *err)
{
    const trl_model first_pass = trl__model_first_pass(m);
    int code = write_texts(m, writer, err);
    if (code == 0)
        code = write_units(m, writer, err);
    if (code == 0)
        code = write_topologies(m, writer, err);
    if (code == 0)
        code = write_transitions(m, writer, err);
    if (code == 0)
        code = write_mixtures(m, &own, writer, err);
    if (code == 0 && m->tree)
        code = trl__tree_write(m->tree, writer, err);
    if (code == 0 && m->shared)
        code = write_shared(m, writer, err);
    if (code == 0 && m->independent.first_gaussian)
        code = write_mixtures(&first_pass, &independent, writer, err);
    return code;
}

int trl_model_write(const trl_model *model, const char *path, trl_error *err)
{
    const file_header header = {.dim = model->dim,
                                .word_positions = model->word_positions,
                                .silence_between = model->silence_between,
                                .parts = (model->tree ? HAS_TREE : 0U) |
                                         (model->independent.first_gaussian ? HAS_INDEPENDENT : 0U) |
                                         (model->shared ? HAS_SHARED : 0U)};
    trl__container_writer *writer;
    int code = trl__container_create(path, KIND, model->shared ? VERSION : header.parts ? 2 : 1, &writer, err);
    if (code < 0)
        return code;
    code = trl__container_add(writer, "model", &header, sizeof header, err);
    if (code == 0)
        code = write_sections(model, writer, err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

/* ---- reading ---- */

static int corrupt(const trl__container *file, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(file), what);
}

/* An array section in heap memory. */
static int copy_array(const trl__container *file, const char *name, size_t size, void **out, size_t *count,
                      trl_error *err)
{
    const void *elements;
    int code = trl__container_array(file, name, size, &elements, count, err);
    if (code != 0)
        return code;
    *out = trl__alloc(*count, size);
    if (!*out)
        return trl__fail_memory(err);
    if (*count > 0)
        memcpy(*out, elements, *count * size);
    return 0;
}

static int read_header(const trl__container *file, trl_model **out, uint32_t *parts, trl_error *err)
{
    const void *bytes;
    size_t count;
    int code = trl__container_array(file, "model", sizeof(file_header), &bytes, &count, err);
    if (code != 0)
        return code;
    if (count != 1)
        return corrupt(file, "section 'model' has a wrong size", err);
    const file_header *header = bytes;
    if (header->dim < 1 || header->dim > TRL__DIM_MOST || header->word_positions > 1 ||
        header->parts > (HAS_TREE | HAS_INDEPENDENT | HAS_SHARED) ||
        (header->parts & HAS_SHARED ? 3U
         : header->parts            ? 2U
                                    : 1U) != trl__container_version(file))
        return corrupt(file, "section 'model' has impossible numbers", err);
    code = trl__model_new(header->dim, out, err);
    if (code < 0)
        return code;
    (*out)->word_positions = (uint8_t)header->word_positions;
    (*out)->silence_between = header->silence_between;
    *parts = header->parts;
    return 0;
}

static int read_texts(const trl__container *file, trl_model *m, trl_error *err)
{
    int code = trl__container_text(file, "frontend", &m->frontend, err);
    if (code == 0)
        code = trl__container_text(file, "lexicon", &m->lexicon, err);
    if (code == 0)
        code = trl__container_text(file, "provenance", &m->provenance, err);
    return code < 0 ? code : trl__container_text(file, "history", &m->history, err);
}

static int read_names(const trl__container *file, trl_model *m, size_t units, trl_error *err)
{
    const void *bytes;
    uint64_t size;
    int code = trl__container_section(file, "units", &bytes, &size, err);
    if (code != 0)
        return code;
    const char *name = bytes, *end = name + size;
    for (size_t u = 0; u < units; u++) {
        const char *stop = name < end ? memchr(name, '\0', (size_t)(end - name)) : NULL;
        if (!stop)
            return corrupt(file, "there are fewer names of units than units", err);
        long number = trl__strings_add(&m->units, name, (size_t)(stop - name));
        if (number < 0)
            return trl__fail_memory(err);
        if ((size_t)number != u)
            return corrupt(file, "two units have the same name", err);
        name = stop + 1;
    }
    return name == end ? 0 : corrupt(file, "there are more names of units than units", err);
}

static int read_units(const trl__container *file, trl_model *m, trl_error *err)
{
    size_t units, topologies;
    int code = copy_array(file, "unit_kinds", sizeof *m->unit_kind, (void **)&m->unit_kind, &units, err);
    if (code == 0)
        code =
            copy_array(file, "unit_topologies", sizeof *m->unit_topology, (void **)&m->unit_topology, &topologies, err);
    if (code != 0)
        return code;
    if (units != topologies)
        return corrupt(file, "units and their topologies differ in number", err);
    return read_names(file, m, units, err);
}

/* What is left of the two sections of topologies. */
typedef struct topology_reader {
    const int32_t *number, *numbers_end;
    const trl__arc *arc, *arcs_end;
} topology_reader;

static int read_topology(const trl__container *file, topology_reader *r, trl__topology *t, trl_error *err)
{
    int32_t states = *r->number++;
    int64_t arcs = 0, sources = (int64_t)states + 1;
    if (states < 1 || sources > r->numbers_end - r->number)
        return corrupt(file, "a topology has an impossible number of states", err);
    for (int64_t s = 0; s < sources; s++) {
        if (r->number[s] < 0 || r->number[s] > r->arcs_end - r->arc - arcs)
            return corrupt(file, "a topology has an impossible number of arcs", err);
        arcs += r->number[s];
    }
    int code = trl__topology_alloc(t, states, (int32_t)arcs, err);
    if (code < 0)
        return code;
    for (int64_t s = 0; s < sources; s++)
        t->first[s + 1] = t->first[s] + r->number[s];
    memcpy(t->arcs, r->arc, (size_t)arcs * sizeof *t->arcs);
    r->number += sources;
    r->arc += arcs;
    return 0;
}

static int read_topologies(const trl__container *file, trl_model *m, trl_error *err)
{
    const void *numbers, *arcs;
    size_t number_count, arc_count, capacity = 0;
    int code = trl__container_array(file, "topologies", sizeof(int32_t), &numbers, &number_count, err);
    if (code == 0)
        code = trl__container_array(file, "arcs", sizeof(trl__arc), &arcs, &arc_count, err);
    if (code != 0)
        return code;
    if (number_count > INT32_MAX || arc_count > INT32_MAX)
        return corrupt(file, "there are too many topologies", err);
    topology_reader r = {.number = numbers, .arc = arcs};
    r.numbers_end = r.number + number_count;
    r.arcs_end = r.arc + arc_count;
    while (r.number < r.numbers_end) {
        if (TRL_GROW(m->topology, capacity, (size_t)m->topologies + 1) < 0)
            return trl__fail_memory(err);
        m->topology[m->topologies] = (trl__topology){0};
        code = read_topology(file, &r, &m->topology[m->topologies++], err);
        if (code < 0)
            return code;
    }
    return r.arc == r.arcs_end ? 0 : corrupt(file, "there are arcs that belong to no topology", err);
}

static int read_triples(const trl__container *file, trl_model *m, trl_error *err)
{
    const void *bytes;
    size_t count;
    int code = trl__container_array(file, "triples", sizeof(file_triple), &bytes, &count, err);
    if (code != 0)
        return code;
    if (count > INT32_MAX)
        return corrupt(file, "there are too many triples", err);
    const file_triple *triples = bytes;
    m->triple = trl__alloc(count, sizeof *m->triple);
    if (!m->triple)
        return trl__fail_memory(err);
    m->triples = (int32_t)count;
    for (size_t i = 0; i < count; i++)
        m->triple[i] = (trl__triple){
            .unit = triples[i].unit, .state = triples[i].state, .tied = triples[i].tied, .pool = triples[i].pool};
    return 0;
}

/* Stays in the mapping: nobody writes there, see trl__model_set_mixtures. */
static int borrow(const trl__container *file, const char *name, size_t size, void **out, size_t *count, trl_error *err)
{
    const void *elements;
    int code = trl__container_array(file, name, size, &elements, count, err);
    *out = code < 0 ? NULL : (void *)(uintptr_t)elements;
    return code;
}

static int read_mixtures(const trl__container *file, const mixture_names *names, int32_t dim, trl__model_mixtures *m,
                         size_t *tied_states, trl_error *err)
{
    size_t firsts, weights, means, variances;
    m->mapped = 1;
    int code = borrow(file, names->first, sizeof *m->first_gaussian, (void **)&m->first_gaussian, &firsts, err);
    if (code == 0)
        code = borrow(file, names->weights, sizeof *m->log_weight, (void **)&m->log_weight, &weights, err);
    if (code == 0)
        code = borrow(file, names->means, sizeof *m->mean, (void **)&m->mean, &means, err);
    if (code == 0)
        code = borrow(file, names->variances, sizeof *m->variance, (void **)&m->variance, &variances, err);
    if (code != 0)
        return code;
    if (firsts < 2 || firsts > INT32_MAX || weights > INT32_MAX || m->first_gaussian[firsts - 1] != (int64_t)weights ||
        means != weights * (size_t)dim || variances != means)
        return corrupt(file, "tied states, weights, means and variances do not belong together", err);
    *tied_states = firsts - 1;
    return 0;
}

static int read_all_mixtures(const trl__container *file, trl_model *m, uint32_t parts, trl_error *err)
{
    size_t tied_states = 0, others = 0;
    trl__model_mixtures mixtures = {0};
    int code = read_mixtures(file, &own, m->dim, &mixtures, &tied_states, err);
    if (code != 0)
        return code;
    m->first_gaussian = mixtures.first_gaussian;
    m->log_weight = mixtures.log_weight;
    m->mean = mixtures.mean;
    m->variance = mixtures.variance;
    m->mapped = 1;
    m->tied_states = (int32_t)tied_states;
    if (parts & HAS_INDEPENDENT)
        code = read_mixtures(file, &independent, m->dim, &m->independent, &others, err);
    if (code == 0 && (parts & HAS_INDEPENDENT) && others != tied_states)
        return corrupt(file, "the mixtures of the first pass have other tied states", err);
    return code;
}

/* The sections' sizes against each other, before anything is copied. */
static int check_shared(const trl__container *file, const trl_model *m, const file_shared *h, size_t streams,
                        const int32_t *stream_dim, const size_t *counts, trl_error *err)
{
    int64_t dim = 0;
    for (size_t s = 0; s < streams && streams <= TRL__STREAMS_MOST; s++)
        dim += stream_dim[s] > 0 ? stream_dim[s] : INT32_MAX;
    if (streams < 1 || streams > TRL__STREAMS_MOST || dim != m->dim || h->codebooks < 1 || h->densities < 1 ||
        h->densities > TRL__DENSITIES_MOST || counts[0] != (size_t)m->tied_states ||
        counts[1] != counts[0] * streams * (size_t)h->densities ||
        counts[2] != (size_t)h->codebooks * (size_t)h->densities * (size_t)m->dim || counts[3] != counts[2])
        return corrupt(file, "codebooks, weights and tied states do not belong together", err);
    return 0;
}

static int read_shared(const trl__container *file, trl_model *m, trl_error *err)
{
    static const char *const names[4] = {"shared_books", "shared_weights", "shared_means", "shared_vars"};
    const void *header, *streams, *arrays[4] = {0};
    size_t headers = 0, stream_count = 0, counts[4] = {0};
    int code = trl__container_array(file, "shared", sizeof(file_shared), &header, &headers, err);
    if (code == 0)
        code = trl__container_array(file, "shared_streams", sizeof(int32_t), &streams, &stream_count, err);
    for (int i = 0; code == 0 && i < 4; i++)
        code = trl__container_array(file, names[i], 4, &arrays[i], &counts[i], err);
    if (code == 0 && headers != 1)
        code = corrupt(file, "section 'shared' has a wrong size", err);
    if (code == 0)
        code = check_shared(file, m, header, stream_count, streams, counts, err);
    if (code != 0)
        return code;
    const file_shared *h = header;
    code = trl__shared_mixtures_create(h->codebooks, h->densities, (int32_t)stream_count, streams, m->tied_states,
                                       &m->shared, err);
    if (code < 0)
        return code;
    m->shared->top = h->top;
    m->shared->floor = h->floor;
    void *to[4] = {m->shared->codebook, m->shared->log_weight, m->shared->mean, m->shared->variance};
    for (int i = 0; i < 4; i++)
        memcpy(to[i], arrays[i], counts[i] * 4);
    return 0;
}

static int read_transitions(const trl__container *file, trl_model *m, trl_error *err)
{
    const void *bytes;
    size_t count;
    int code = trl__container_array(file, "transitions", sizeof(float), &bytes, &count, err);
    if (code != 0)
        return code;
    if (count != (size_t)m->transitions)
        return trl__fail(err, TRL_ECORRUPT, "%s: %zu log probabilities for %" PRId32 " transitions",
                         trl__container_path(file), count, m->transitions);
    m->log_probability = trl__alloc(count + 1, sizeof *m->log_probability);
    if (!m->log_probability)
        return trl__fail_memory(err);
    m->log_probability[0] = 0;
    memcpy(m->log_probability + 1, bytes, count * sizeof *m->log_probability);
    return 0;
}

static int read_sections(const trl__container *file, trl_model *m, uint32_t parts, trl_error *err)
{
    int code = read_texts(file, m, err);
    if (code == 0)
        code = read_units(file, m, err);
    if (code == 0)
        code = read_topologies(file, m, err);
    if (code == 0)
        code = read_triples(file, m, err);
    if (code == 0)
        code = read_all_mixtures(file, m, parts, err);
    if (code == 0 && (parts & HAS_SHARED))
        code = read_shared(file, m, err);
    if (code == 0 && (parts & HAS_TREE))
        code = trl__tree_read(file, m->units.count, &m->tree, err);
    if (code == 0)
        code = trl__model_structure(m, trl__container_path(file), err);
    if (code == 0)
        code = read_transitions(file, m, err);
    return code < 0 ? code : trl__model_finish(m, trl__container_path(file), err);
}

int trl__model_from_container(trl__container *file, trl_model **out, trl_error *err)
{
    trl_model *model = NULL;
    uint32_t parts = 0;
    *out = NULL;
    int code = read_header(file, &model, &parts, err);
    if (code != 0) {
        trl__container_close(file);
        return code;
    }
    model->file = file;
    code = read_sections(file, model, parts, err);
    if (code < 0)
        trl_model_destroy(model);
    else
        *out = model;
    return code;
}

int trl_model_read(const char *path, trl_model **out, trl_error *err)
{
    *out = NULL;
    trl__container *file;
    int code = trl__container_open(path, KIND, VERSION, &file, err);
    return code < 0 ? code : trl__model_from_container(file, out, err);
}
