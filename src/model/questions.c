/* Questions for trees: the list, its names, and questions from the data. See questions.h.
 *
 * Units are likened by the middle state alone: a unit's edges carry the sound of its neighbours, and one Gaussian over
 * all states would be wide whatever the unit is. Bottom-up clustering (sums.h) costs units^2 * dim.
 */
#include "model/questions.h"
#include "model/sums.h"
#include "model/tree_build.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_MOST 60 /* bytes of a set's name that is made of its units' */

/* ---- the list ---- */

int trl__questions_create(const trl_model *model, trl__questions **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    (*out)->sets.units = (int32_t)model->units.count;
    return 0;
}

void trl__questions_destroy(trl__questions *questions)
{
    if (!questions)
        return;
    trl__unit_sets_free(&questions->sets);
    trl__free(questions->positions);
    trl__free(questions);
}

size_t trl__unit_base(const trl_model *model, int32_t unit)
{
    const char *name = model->units.texts[unit];
    size_t length = strlen(name);
    int placed = model->word_positions && model->unit_kind[unit] == TRL_UNIT_PHONE && length > 2 &&
                 name[length - 2] == '_' && strchr("BIES", name[length - 1]);
    return placed ? length - 2 : length;
}

static int same_base(const trl_model *model, int32_t a, int32_t b)
{
    size_t length = trl__unit_base(model, a);
    return model->unit_kind[a] == model->unit_kind[b] && length == trl__unit_base(model, b) &&
           strncmp(model->units.texts[a], model->units.texts[b], length) == 0;
}

/* 1: all places of the unit's phone are in the set, and this is the first; 0: only some are; -1: all are, and another
 * was first. */
static int stands_for_all(const trl_model *model, const uint64_t *bits, int32_t unit)
{
    int first = 1;
    if (model->units.texts[unit][trl__unit_base(model, unit)] == '\0')
        return 0;
    for (int32_t u = 0; u < (int32_t)model->units.count; u++)
        if (same_base(model, u, unit)) {
            if (!trl__unit_bits_has(bits, u))
                return 0;
            if (u < unit)
                first = -1;
        }
    return first;
}

/* "M N NG", or "M N NG ... (17)" where that would be too long. */
static char *name_units(const trl_model *model, const uint64_t *bits)
{
    size_t length = 0, capacity = 0, shown = 0;
    int names = 0;
    char *name = NULL;
    for (int32_t u = 0; u < (int32_t)model->units.count; u++) {
        int all = trl__unit_bits_has(bits, u) ? stands_for_all(model, bits, u) : -1;
        size_t more = all > 0 ? trl__unit_base(model, u) : strlen(model->units.texts[u]);
        if (all < 0)
            continue;
        names++;
        if (shown + 1 < (size_t)names || (names > 1 && length + 1 + more > NAME_MOST))
            continue;
        if (TRL_GROW(name, capacity, length + more + 32) < 0) {
            trl__free(name);
            return NULL;
        }
        if (shown++ > 0)
            name[length++] = ' ';
        memcpy(name + length, model->units.texts[u], more);
        length += more;
        name[length] = '\0';
    }
    if (!name)
        return trl__strdup("nothing");
    if (shown < (size_t)names)
        snprintf(name + length, capacity - length, " ... (%d)", names);
    return name;
}

/* Does every window's unit answer alike? */
static int is_pointless(const uint64_t *bits, int32_t units)
{
    int32_t members = 0;
    for (int32_t u = 0; u <= units; u++)
        members += trl__unit_bits_has(bits, u);
    return members == 0 || members == units + 1;
}

int trl__questions_add(trl__questions *questions, const trl_model *model, const char *name, uint64_t *bits,
                       uint32_t positions, trl_error *err)
{
    trl__unit_sets *sets = &questions->sets;
    int32_t before = sets->count;
    if (is_pointless(bits, sets->units))
        return 0;
    uint32_t *longer = trl__realloc(questions->positions, (size_t)before + 1, sizeof *longer);
    if (!longer)
        return trl__fail_memory(err);
    questions->positions = longer;
    char *made = name ? NULL : name_units(model, bits);
    int set = name || made ? trl__unit_sets_add(sets, name ? name : made, bits) : -1;
    trl__free(made);
    if (set < 0)
        return trl__fail_memory(err);
    if (set == before)
        questions->positions[set] = 0;
    questions->positions[set] |= positions;
    return 0;
}

/* ---- questions from the data ---- */

/* What is joined: a unit, or a phone with all its places. */
typedef struct families {
    const trl_model *model;
    trl__questions *questions;
    uint32_t positions;
    int32_t count, words, dim;
    int32_t *of;    /* by unit */
    int32_t *first; /* by family: its first unit */
    uint64_t *bits; /* by family: `words` */
    double *sums;   /* by family */
    int32_t *some;  /* room for a list of families */
    double *rows;   /* and for their sums */
    trl__join *joins;
    uint64_t *top;
} families;

static uint64_t *bits_of(const families *f, int32_t family)
{
    return f->bits + (size_t)family * (size_t)f->words;
}

static int make_families(families *f, const trl__context_stats *stats, trl_error *err)
{
    size_t units = f->model->units.count, size = trl__sums_size(stats->dim);
    f->dim = stats->dim;
    f->words = trl__unit_set_words((int32_t)units);
    f->of = trl__alloc(units, sizeof *f->of);
    f->first = trl__alloc(units, sizeof *f->first);
    f->some = trl__alloc(units, sizeof *f->some);
    f->bits = trl__alloc_zero((units + 1) * (size_t)f->words, sizeof *f->bits);
    f->sums = trl__alloc_zero(units * size, sizeof *f->sums);
    f->rows = trl__alloc(units * size, sizeof *f->rows);
    f->joins = trl__alloc(units, sizeof *f->joins);
    if (!f->of || !f->first || !f->some || !f->bits || !f->sums || !f->rows || !f->joins)
        return trl__fail_memory(err);
    f->top = f->bits + units * (size_t)f->words;
    for (int32_t u = 0; u < (int32_t)units; u++) {
        int32_t family = 0;
        while (family < f->count && !same_base(f->model, f->first[family], u))
            family++;
        if (family == f->count)
            f->first[f->count++] = u;
        f->of[u] = family;
        trl__unit_bits_set(bits_of(f, family), u);
    }
    return 0;
}

static void free_families(families *f)
{
    trl__free(f->of);
    trl__free(f->first);
    trl__free(f->some);
    trl__free(f->bits);
    trl__free(f->sums);
    trl__free(f->rows);
    trl__free(f->joins);
}

static void sum_middle_states(families *f, const trl__context_stats *stats)
{
    size_t size = trl__sums_size(stats->dim);
    for (size_t i = 0; i < stats->keys.count; i++) {
        const int32_t *key = trl__tuples_get(&stats->keys, (int64_t)i);
        int32_t unit = key[stats->centre];
        if (key[stats->width] == trl__unit_topology(f->model, unit)->states / 2)
            trl__sums_add(f->sums + (size_t)f->of[unit] * size, stats->slots + i * size, size);
    }
}

static int add(families *f, const char *name, uint64_t *bits, trl_error *err)
{
    return trl__questions_add(f->questions, f->model, name, bits, f->positions, err);
}

/* Joins the phones, or all that are no phones: each alone, every pair that is joined, and in the end all. */
static int join_kind(families *f, int phones, trl_error *err)
{
    size_t size = trl__sums_size(f->dim);
    int32_t seen = 0;
    int code = 0;
    memset(f->top, 0, (size_t)f->words * sizeof *f->top);
    if (!phones)
        trl__unit_bits_set(f->top, f->questions->sets.units);
    for (int32_t i = 0; code == 0 && i < f->count; i++) {
        if ((f->model->unit_kind[f->first[i]] == TRL_UNIT_PHONE) != phones)
            continue;
        for (int32_t w = 0; w < f->words; w++)
            f->top[w] |= bits_of(f, i)[w];
        code = add(f, NULL, bits_of(f, i), err);
        if (f->sums[(size_t)i * size] > 0) {
            memcpy(f->rows + (size_t)seen * size, f->sums + (size_t)i * size, size * sizeof *f->rows);
            f->some[seen++] = i;
        }
    }
    int32_t joins =
        code < 0 ? 0
                 : trl__sums_cluster(f->rows, seen, f->dim, trl__tree_defaults().variance_floor, INFINITY, f->joins);
    if (joins < 0)
        return trl__fail_memory(err);
    for (int32_t j = 0; code == 0 && j < joins; j++) {
        uint64_t *into = bits_of(f, f->some[f->joins[j].into]), *from = bits_of(f, f->some[f->joins[j].from]);
        for (int32_t w = 0; w < f->words; w++)
            into[w] |= from[w];
        code = add(f, NULL, into, err);
    }
    return code < 0 ? code : add(f, NULL, f->top, err);
}

/* The four places in a word. */
static int add_places(families *f, trl_error *err)
{
    static const char *const names[] = {"begin", "inside", "end", "single"};
    int code = 0;
    for (int place = 0; code == 0 && place < 4; place++) {
        memset(f->top, 0, (size_t)f->words * sizeof *f->top);
        for (int32_t u = 0; u < f->questions->sets.units; u++) {
            const char *name = f->model->units.texts[u];
            size_t base = trl__unit_base(f->model, u);
            if (name[base] == '_' && name[base + 1] == "BIES"[place])
                trl__unit_bits_set(f->top, u);
        }
        code = add(f, names[place], f->top, err);
    }
    return code;
}

static int ask_data(families *f, const trl__context_stats *stats, trl_error *err)
{
    int code = make_families(f, stats, err);
    if (code < 0)
        return code;
    sum_middle_states(f, stats);
    for (int32_t u = 0; u < f->questions->sets.units; u++)
        if (f->model->unit_kind[u] == TRL_UNIT_SILENCE) {
            trl__unit_bits_set(bits_of(f, f->of[u]), f->questions->sets.units);
            break;
        }
    code = join_kind(f, 1, err);
    if (code == 0)
        code = join_kind(f, 0, err);
    return code < 0 || !f->model->word_positions ? code : add_places(f, err);
}

int trl__questions_from_stats(const trl_model *model, const trl__context_stats *stats, trl__questions **out,
                              trl_error *err)
{
    trl__questions *questions;
    int code = trl__context_stats_check(stats, model, err);
    *out = NULL;
    if (code < 0)
        return code;
    code = trl__questions_create(model, &questions, err);
    if (code < 0)
        return code;
    families f = {.model = model, .questions = questions, .positions = (1u << stats->width) - 1};
    code = ask_data(&f, stats, err);
    free_families(&f);
    if (code < 0)
        trl__questions_destroy(questions);
    else
        *out = questions;
    return code;
}
