/* Expected edit distance, exactly.
 *
 * The edit distances of a path's first words to all beginnings of the given words are a column; the next word makes the next column of it. Columns
 * differ from each other by what is added to all of their numbers, and by their steps from row to row, each -1, 0 or 1: its shape. So paths that meet in a state
 * with the same shape can go on together, with their probability and the expected number at the top of the column. Shapes are few where words agree
 * with most paths, as those do that somebody asks about; where they are not, the work is given up.
 */
#include "decode/lattice_errors.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/tuple_table.h"

#define MOST_GROUPS 200000 /* of paths that go on together, in all states */
#define NONE UINT32_MAX

/* Paths to a state that have the same shape. */
typedef struct path_group {
    double mass; /* their probability */
    double top;  /* mass * words so far, summed up */
    int32_t shape;
    uint32_t next; /* of the state */
} path_group;

typedef struct error_sum {
    const trl_lattice *lattice;
    const int32_t *words;
    size_t count;
    trl__map shape_numbers; /* by the shape's steps */
    const int8_t **shapes;
    size_t shape_count, shape_capacity;
    trl__arena steps;
    trl__tuples moves; /* shape, word */
    int32_t *move_to;  /* by those */
    size_t move_capacity;
    trl__tuples places; /* state, shape: number of the group */
    path_group *groups;
    size_t group_capacity;
    uint32_t *first; /* by state: group */
    int8_t *column;
} error_sum;

/* The number of the shape in `column`. */
static int number_shape(error_sum *e, int32_t *out, trl_error *err)
{
    uint64_t number = e->shape_count;
    uint64_t *known = trl__map_find(&e->shape_numbers, (const char *)e->column, e->count);
    if (known) {
        *out = (int32_t)*known;
        return 0;
    }
    char *copy = trl__arena_copy(&e->steps, (const char *)e->column, e->count);
    if (!copy || TRL_GROW(e->shapes, e->shape_capacity, e->shape_count + 1) < 0 ||
        trl__map_add(&e->shape_numbers, copy, e->count, &number) < 0)
        return trl__fail_memory(err);
    e->shapes[e->shape_count++] = (const int8_t *)copy;
    *out = (int32_t)number;
    return 0;
}

/* The shape after one more word; the number at the top rises by 1. In rows, above: what the column had one row up, less its top; new_above: the new one. */
static int move_shape(error_sum *e, int32_t shape, int32_t word, int32_t *out, trl_error *err)
{
    int64_t known = trl__tuples_find(&e->moves, (int32_t[]){shape, word});
    if (known >= 0) {
        *out = e->move_to[known];
        return 0;
    }
    const int8_t *steps = e->shapes[shape];
    int32_t above = 0, new_above = 1;
    for (size_t row = 0; row < e->count; row++) {
        int32_t old = above + steps[row], best = above + (e->words[row] != word);
        best = old + 1 < best ? old + 1 : best;
        best = new_above + 1 < best ? new_above + 1 : best;
        e->column[row] = (int8_t)(best - new_above);
        above = old;
        new_above = best;
    }
    int code = number_shape(e, out, err);
    if (code < 0)
        return code;
    known = trl__tuples_add(&e->moves, (int32_t[]){shape, word});
    if (known < 0 || TRL_GROW(e->move_to, e->move_capacity, (size_t)known + 1) < 0)
        return trl__fail_memory(err);
    e->move_to[known] = *out;
    return 0;
}

static int add_group(error_sum *e, int32_t state, int32_t shape, double mass, double top, trl_error *err)
{
    size_t before = e->places.count;
    int64_t number = trl__tuples_add(&e->places, (int32_t[]){state, shape});
    if (number < 0 || TRL_GROW(e->groups, e->group_capacity, (size_t)number + 1) < 0)
        return trl__fail_memory(err);
    path_group *g = &e->groups[number];
    if (e->places.count > before) {
        *g = (path_group){0, 0, shape, e->first[state]};
        e->first[state] = (uint32_t)number;
    }
    g->mass += mass;
    g->top += top;
    return 0;
}

static double last_row(const error_sum *e, int32_t shape)
{
    double sum = 0;
    for (size_t row = 0; row < e->count; row++)
        sum += e->shapes[shape][row];
    return sum;
}

/* behind[s]: log of the sum over all ways from s to an end. */
static int leave_state(error_sum *e, int32_t s, const trl_lattice_scale *scale, const double *behind, double *errors,
                       trl_error *err)
{
    const trl_lattice *l = e->lattice;
    int code = 0;
    for (uint32_t k = e->first[s]; code == 0 && k != NONE; k = e->groups[k].next) {
        path_group g = e->groups[k];
        double end = exp(-trl__lattice_end_cost(&l->ends[s], scale) - behind[s]);
        *errors += end * (g.top + g.mass * last_row(e, g.shape));
        for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            double share = exp(behind[arc->next] - trl__lattice_arc_cost(arc, scale) - behind[s]);
            int32_t shape = g.shape;
            if (arc->word)
                code = move_shape(e, g.shape, arc->word, &shape, err);
            if (code == 0)
                code = add_group(e, arc->next, shape, share * g.mass, share * (g.top + (arc->word ? g.mass : 0)), err);
        }
    }
    return code;
}

static int sum_up(error_sum *e, const trl_lattice_scale *scale, double *ahead, double *errors, trl_error *err)
{
    const trl_lattice *l = e->lattice;
    double *behind = ahead + l->states;
    int32_t shape = 0;
    trl__lattice_sums(l, scale, ahead, behind);
    for (int32_t s = 0; s < l->states; s++)
        e->first[s] = NONE;
    for (size_t row = 0; row < e->count; row++)
        e->column[row] = 1;
    int code = number_shape(e, &shape, err);
    if (code == 0)
        code = add_group(e, 0, shape, 1, 0, err);
    *errors = 0;
    for (int32_t s = 0; code == 0 && s < l->states; s++) {
        code = leave_state(e, s, scale, behind, errors, err);
        if (e->places.count > MOST_GROUPS) {
            *errors = -1;
            break;
        }
    }
    return code;
}

int trl__lattice_expected_errors(const trl_lattice *l, const trl_lattice_scale *scale, const int32_t *words,
                                 size_t count, double *errors, trl_error *err)
{
    error_sum e = {.lattice = l, .words = words, .count = count, .moves = {.width = 2}, .places = {.width = 2}};
    double *sums = trl__alloc(2 * ((size_t)l->states + 1), sizeof *sums);
    e.first = trl__alloc((size_t)l->states + 1, sizeof *e.first);
    e.column = trl__alloc(count + 1, 1);
    int code = sums && e.first && e.column ? 0 : trl__fail_memory(err);
    *errors = (double)count;
    if (code == 0 && l->states > 0)
        code = sum_up(&e, scale, sums, errors, err);
    trl__free(sums);
    trl__free(e.first);
    trl__free(e.column);
    trl__map_free(&e.shape_numbers);
    trl__free((void *)e.shapes);
    trl__arena_free(&e.steps);
    trl__tuples_free(&e.moves);
    trl__tuples_free(&e.places);
    trl__free(e.move_to);
    trl__free(e.groups);
    return code;
}
