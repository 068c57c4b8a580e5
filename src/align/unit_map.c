/* The map from a lexicon to a model's units. */
#include "align/unit_map.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/unit_kind.h"

#include <stdio.h>
#include <string.h>

static const trl__arc *arcs_of(const trl__topology *t, int32_t state, int32_t *count)
{
    *count = t->first[state + 2] - t->first[state + 1];
    return t->arcs + t->first[state + 1];
}

/* The arcs from any state to `to`; its own loop comes first, so that it is back-pointer 0. */
static int32_t gather_arcs(const trl__topology *t, int32_t to, trl__inner_arc *out)
{
    int32_t used = 0;
    for (int loop = 1; loop >= 0; loop--)
        for (int32_t s = 0; s < t->states; s++) {
            int32_t count;
            const trl__arc *arcs = arcs_of(t, s, &count);
            for (int32_t i = 0; i < count; i++)
                if (arcs[i].to == to && (s == to) == loop)
                    out[used++] = (trl__inner_arc){s, i};
        }
    return used;
}

/* Frames of the shortest way through: Bellman and Ford's, on a handful of states. */
static int32_t least_frames(const trl__shape *sh, int32_t *reached)
{
    for (int32_t s = 0; s < sh->states; s++)
        reached[s] = sh->entry[s] > -INFINITY ? 1 : TRL__NEVER;
    for (int32_t round = 1; round < sh->states; round++)
        for (int32_t s = 0; s < sh->states; s++)
            for (int32_t i = sh->first[s]; i < sh->first[s + 1]; i++)
                if (reached[sh->inner[i].from] + 1 < reached[s])
                    reached[s] = reached[sh->inner[i].from] + 1;
    int32_t least = TRL__NEVER;
    for (int32_t i = 0; i < sh->exits; i++)
        if (reached[sh->exit[i].from] < least)
            least = reached[sh->exit[i].from];
    return least;
}

static int make_shape(const trl__topology *t, trl__shape *sh, trl_error *err)
{
    size_t states = (size_t)t->states, arcs = (size_t)t->first[t->states + 1];
    sh->states = t->states;
    sh->first = trl__alloc(states + 1, sizeof *sh->first);
    sh->inner = trl__alloc(arcs, sizeof *sh->inner);
    sh->exit = trl__alloc(arcs, sizeof *sh->exit);
    sh->entry = trl__alloc(states, sizeof *sh->entry);
    int32_t *reached = trl__alloc(states, sizeof *reached);
    if (!sh->first || !sh->inner || !sh->exit || !sh->entry || !reached) {
        trl__free(reached);
        return trl__fail_memory(err);
    }
    sh->skip = -INFINITY;
    for (int32_t s = 0; s < t->states; s++) {
        sh->entry[s] = -INFINITY;
        sh->first[s] = sh->inner_arcs;
        sh->inner_arcs += gather_arcs(t, s, sh->inner + sh->inner_arcs);
    }
    sh->first[t->states] = sh->inner_arcs;
    sh->exits = gather_arcs(t, TRL_EXIT, sh->exit);
    for (int32_t i = t->first[0]; i < t->first[1]; i++)
        *(t->arcs[i].to == TRL_EXIT ? &sh->skip : &sh->entry[t->arcs[i].to]) = trl__log_of(t->arcs[i].probability);
    for (int32_t s = 0; s < t->states; s++)
        sh->entries += sh->entry[s] > -INFINITY;
    sh->least = least_frames(sh, reached);
    trl__free(reached);
    return 0;
}

static int32_t first_of_kind(const trl_model *model, trl_unit_kind kind)
{
    for (size_t u = 0; u < model->units.count; u++)
        if (model->unit_kind[u] == kind)
            return (int32_t)u;
    return -1;
}

/* The phone at its place in the word; units that don't know places (silence, noise) serve at each. */
static int32_t find_unit(const trl_model *model, const char *phone, int position)
{
    static const char *const suffix[TRL__POSITIONS] = {"_B", "_I", "_E", "_S"};
    char name[256];
    if (model->word_positions) {
        int length = snprintf(name, sizeof name, "%s%s", phone, suffix[position]);
        long unit = length < (int)sizeof name ? trl__strings_find(&model->units, name, (size_t)length) : -1;
        if (unit >= 0)
            return (int32_t)unit;
    }
    return (int32_t)trl__strings_find(&model->units, phone, strlen(phone));
}

/* A phone that the model lacks matters only where a transcript has a word with it. */
static int map_phones(trl__unit_map *map, const trl_lexicon *lexicon, trl_error *err)
{
    size_t phones = trl_lexicon_phones(lexicon);
    map->phone_unit = trl__alloc(phones * TRL__POSITIONS, sizeof *map->phone_unit);
    if (!map->phone_unit)
        return trl__fail_memory(err);
    for (size_t p = 0; p < phones; p++)
        for (int position = 0; position < TRL__POSITIONS; position++) {
            int32_t unit = find_unit(map->model, trl_lexicon_phone(lexicon, p), position);
            map->lacks_phones |= unit < 0;
            map->phone_unit[p * TRL__POSITIONS + (size_t)position] = unit;
        }
    return 0;
}

int trl__check_phones(const trl__unit_map *map, const trl_lexicon *lexicon, size_t word, trl_error *err)
{
    for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, word); v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        for (size_t i = 0; i < p.length; i++)
            if (trl__unit_of(map, p, i) < 0)
                return trl__fail(err, TRL_EINVAL,
                                 "the word %s has the phone %s, which is not in the model; use the lexicon that the "
                                 "model was trained with, or train a model with this one",
                                 trl_lexicon_word(lexicon, word), trl_lexicon_phone(lexicon, (size_t)p.phones[i]));
    }
    return 0;
}

/* Where a unit's state has several tied states, a tree must choose among them. */
static int check_choice(const trl_model *model, trl_error *err)
{
    for (int32_t u = 0; !model->tree && u < trl_model_units(model); u++)
        if (model->unit_triple[u + 1] - model->unit_triple[u] != trl__unit_topology(model, u)->states)
            return trl__fail(err, TRL_EINVAL,
                             "unit %s has several tied states per state, but the model has no tree that chooses among "
                             "them; read the model together with its tree",
                             model->units.texts[u]);
    return 0;
}

int trl__unit_map_create(const trl_model *model, const trl_lexicon *lexicon, trl__unit_map **out, trl_error *err)
{
    *out = NULL;
    int code = check_choice(model, err);
    if (code < 0)
        return code;
    trl__unit_map *map = trl__alloc_zero(1, sizeof *map);
    if (!map)
        return trl__fail_memory(err);
    map->model = model;
    map->silence = first_of_kind(model, TRL_UNIT_SILENCE);
    map->noise = trl__spoken_noise_unit(model);
    map->shapes = trl__alloc_zero((size_t)model->topologies, sizeof *map->shapes);
    code = map->shapes ? map_phones(map, lexicon, err) : trl__fail_memory(err);
    for (int32_t t = 0; code == 0 && t < model->topologies; t++)
        code = make_shape(&model->topology[t], &map->shapes[t], err);
    if (code < 0) {
        trl__unit_map_destroy(map);
        return code;
    }
    *out = map;
    return 0;
}

void trl__unit_map_destroy(trl__unit_map *map)
{
    if (!map)
        return;
    for (int32_t t = 0; map->shapes && t < map->model->topologies; t++) {
        trl__free(map->shapes[t].first);
        trl__free(map->shapes[t].inner);
        trl__free(map->shapes[t].exit);
        trl__free(map->shapes[t].entry);
    }
    trl__free(map->shapes);
    trl__free(map->phone_unit);
    trl__free(map);
}
