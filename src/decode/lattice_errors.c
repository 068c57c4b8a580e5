/* Expected edit distance.
 *
 * The edit distances of a path's first words to all beginnings of the given words are a column; the next word makes the next column of it. Columns
 * differ from each other by what is added to all of their numbers, and by their steps from row to row, each -1, 0 or 1: its shape. So paths that meet in a state
 * with the same shape can go on together, with their probability and the expected number at the column's centre, its least row. Of a shape only the steps within
 * WINDOW rows of the centre are kept; beyond, numbers rise by 1 from row to row. That is exact unless the best alignment shifts words by more than
 * that, and it forgets errors that lie so far behind: shapes are few, whatever the length. Where they are not, the work is given up.
 */
#include "decode/lattice_errors.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/tuple_table.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 12
#define ROWS (2 * WINDOW + 2)
#define MOST_GROUPS 200000 /* of paths that go on together, in all states */
#define NONE UINT32_MAX

/* Rows centre - WINDOW … centre + WINDOW; those that the words do not have stay 0. */
typedef struct column_shape {
    int32_t centre;
    int8_t above[2 * WINDOW + 1]; /* the number of row centre - WINDOW + i, less that of the centre */
    int8_t unused[3];
} column_shape;

_Static_assert(sizeof(column_shape) % sizeof(int32_t) == 0, "a shape is a tuple of 32-bit numbers");

/* One word more. */
typedef struct column_move {
    int32_t to;   /* shape */
    int32_t more; /* the centre's number, less that of the last centre */
} column_move;

/* Paths to a state that have the same shape. */
typedef struct path_group {
    double mass;   /* their probability */
    double errors; /* mass * number at the centre, summed up */
    int32_t shape;
    uint32_t next; /* of the state */
} path_group;

typedef struct error_sum {
    const trl_lattice *lattice;
    const int32_t *words;
    int32_t count;
    trl__tuples shapes;
    trl__tuples known;  /* shape, word */
    column_move *moves; /* by those */
    size_t move_capacity;
    trl__tuples places; /* state, shape: number of the group */
    path_group *groups;
    size_t group_capacity;
    uint32_t *first; /* by state: group */
} error_sum;

static int number_shape(error_sum *e, const column_shape *shape, int32_t *out, trl_error *err)
{
    int32_t key[sizeof *shape / sizeof(int32_t)];
    memcpy(key, shape, sizeof key);
    int64_t number = trl__tuples_add(&e->shapes, key);
    *out = (int32_t)number;
    return number < 0 ? trl__fail_memory(err) : 0;
}

static column_shape get_shape(const error_sum *e, int32_t number)
{
    column_shape shape;
    memcpy(&shape, trl__tuples_get(&e->shapes, number), sizeof shape);
    return shape;
}

/* A row's number, less that of the centre. */
static int32_t row_of(const column_shape *shape, int32_t row)
{
    int32_t away = row - shape->centre;
    int32_t near = away < -WINDOW ? -WINDOW : away > WINDOW ? WINDOW : away;
    return shape->above[near + WINDOW] + abs(away - near);
}

/* The column after one more word: rows from the lowest of the window to one above the highest, and its least row. */
static column_shape next_column(const error_sum *e, const column_shape *old, int32_t word, int32_t *more)
{
    int32_t low = old->centre > WINDOW ? old->centre - WINDOW : 0;
    int32_t high = e->count - old->centre > WINDOW + 1 ? old->centre + WINDOW + 1 : e->count, numbers[ROWS] = {0},
            best = low;
    for (int32_t row = low; row <= high; row++) {
        int32_t number = row_of(old, row) + 1;
        if (row > 0 && row_of(old, row - 1) + (e->words[row - 1] != word) < number)
            number = row_of(old, row - 1) + (e->words[row - 1] != word);
        if (row > low && numbers[row - 1 - low] + 1 < number)
            number = numbers[row - 1 - low] + 1;
        numbers[row - low] = number;
        best = number <= numbers[best - low] ? row : best;
    }
    column_shape shape = {.centre = best};
    for (int32_t away = -WINDOW; away <= WINDOW; away++) {
        int32_t row = best + away, near = row < low ? low : row > high ? high : row;
        if (row >= 0 && row <= e->count)
            shape.above[away + WINDOW] = (int8_t)(numbers[near - low] + abs(row - near) - numbers[best - low]);
    }
    *more = numbers[best - low];
    return shape;
}

static int move_shape(error_sum *e, int32_t from, int32_t word, column_move *out, trl_error *err)
{
    int64_t known = trl__tuples_find(&e->known, (int32_t[]){from, word});
    if (known >= 0) {
        *out = e->moves[known];
        return 0;
    }
    column_shape old = get_shape(e, from), shape = next_column(e, &old, word, &out->more);
    int code = number_shape(e, &shape, &out->to, err);
    if (code < 0)
        return code;
    known = trl__tuples_add(&e->known, (int32_t[]){from, word});
    if (known < 0 || TRL_GROW(e->moves, e->move_capacity, (size_t)known + 1) < 0)
        return trl__fail_memory(err);
    e->moves[known] = *out;
    return 0;
}

static int add_group(error_sum *e, int32_t state, int32_t shape, double mass, double errors, trl_error *err)
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
    g->errors += errors;
    return 0;
}

/* behind[s]: log of the sum over all ways from s to an end. */
static int leave_state(error_sum *e, int32_t s, const trl_lattice_scale *scale, const double *behind, double *errors,
                       trl_error *err)
{
    const trl_lattice *l = e->lattice;
    double end = exp(-trl__lattice_end_cost(&l->ends[s], scale) - behind[s]);
    int code = 0;
    for (uint32_t k = e->first[s]; code == 0 && k != NONE; k = e->groups[k].next) {
        path_group g = e->groups[k];
        column_shape shape = get_shape(e, g.shape);
        *errors += end * (g.errors + g.mass * row_of(&shape, e->count));
        for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            double share = exp(behind[arc->next] - trl__lattice_arc_cost(arc, scale) - behind[s]);
            column_move move = {g.shape, 0};
            if (arc->word)
                code = move_shape(e, g.shape, arc->word, &move, err);
            if (code == 0)
                code = add_group(e, arc->next, move.to, share * g.mass, share * (g.errors + g.mass * move.more), err);
        }
    }
    return code;
}

static int sum_up(error_sum *e, const trl_lattice_scale *scale, double *ahead, double *errors, trl_error *err)
{
    const trl_lattice *l = e->lattice;
    double *behind = ahead + l->states;
    column_shape start = {.centre = 0};
    int32_t shape = 0;
    trl__lattice_sums(l, scale, ahead, behind);
    for (int32_t s = 0; s < l->states; s++)
        e->first[s] = NONE;
    for (int32_t row = 0; row <= WINDOW && row <= e->count; row++)
        start.above[row + WINDOW] = (int8_t)row;
    int code = number_shape(e, &start, &shape, err);
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
    error_sum e = {.lattice = l,
                   .words = words,
                   .count = (int32_t)count,
                   .shapes = {.width = sizeof(column_shape) / sizeof(int32_t)},
                   .known = {.width = 2},
                   .places = {.width = 2}};
    if (count >= INT32_MAX / 2)
        return trl__fail(err, TRL_ELIMIT, "%zu words are too many to be compared with a lattice", count);
    double *sums = trl__alloc(2 * ((size_t)l->states + 1), sizeof *sums);
    e.first = trl__alloc((size_t)l->states + 1, sizeof *e.first);
    int code = sums && e.first ? 0 : trl__fail_memory(err);
    *errors = (double)count;
    if (code == 0 && l->states > 0)
        code = sum_up(&e, scale, sums, errors, err);
    trl__free(sums);
    trl__free(e.first);
    trl__tuples_free(&e.shapes);
    trl__tuples_free(&e.known);
    trl__tuples_free(&e.places);
    trl__free(e.moves);
    trl__free(e.groups);
    return code;
}
