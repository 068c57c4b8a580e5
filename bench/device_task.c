/* The work that operations on devices are measured with: chains of nodes along a path that visits all of them equally long, a random model. */
#include "device_bench.h"
#include "train_workload.h"

#include <math.h>
#include <stdlib.h>

#define DIM 39
#define FRAMES 360
#define NODES 90
#define MARGIN 10 /* frames before and behind a node's own */

typedef struct device_utterance {
    trl_matrix frames;
    trl__row row[NODES];
    int32_t tied[NODES], node_row[NODES], first[NODES], end[NODES];
    int32_t arc_first[NODES + 2], arc_from[2 * NODES + 1], transition[2 * NODES + 1];
    float weight[2 * NODES + 1];
    double alpha[NODES + 1], arc_count[2 * NODES + 1];
    int64_t back_offset[NODES], gamma_offset[NODES];
    int32_t path[FRAMES], path_arc[FRAMES];
    uint8_t *back;
    float *scores, *gamma;
    trl__search s;
} device_utterance;

static uint64_t drawn;

static float draw(void)
{
    return (float)((drawn = drawn * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24f;
}

static void make_arcs(device_utterance *u)
{
    int32_t arcs = 0;
    for (int32_t n = 0; n <= NODES; n++) {
        u->arc_first[n] = arcs;
        u->arc_from[arcs++] = n - 1; /* the first one's is TRL__START */
        if (n < NODES)
            u->arc_from[arcs++] = n;
    }
    u->arc_first[NODES + 1] = arcs;
    for (int32_t a = 0; a < arcs; a++) {
        u->weight[a] = -0.7f;
        u->transition[a] = u->arc_from[a] >= 0;
    }
}

static void make_utterance(device_utterance *u, const trl_model *model, double *cells)
{
    trl_error err;
    int64_t floats = 0, total = 0;
    bench_check(trl_matrix_resize(&u->frames, FRAMES, DIM, &err), &err);
    for (size_t i = 0; i < (size_t)FRAMES * DIM; i++)
        u->frames.data[i] = 2 * draw() - 1;
    make_arcs(u);
    for (int32_t n = 0; n < NODES; n++) {
        int32_t from = n * FRAMES / NODES - MARGIN, to = (n + 1) * FRAMES / NODES + MARGIN;
        u->first[n] = from > 0 ? from : 0;
        u->end[n] = to < FRAMES ? to : FRAMES;
        u->tied[n] = (int32_t)(draw() * (float)model->tied_states);
        u->node_row[n] = n;
        u->row[n] = (trl__row){u->tied[n], u->first[n], u->end[n], floats};
        u->back_offset[n] = 64 * floats / TRL__ROW_PAD;
        u->gamma_offset[n] = total;
        floats += (u->end[n] - u->first[n] + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
        total += u->end[n] - u->first[n];
    }
    *cells += (double)total;
    u->scores = aligned_alloc(64, (size_t)(floats + TRL__ROW_PAD) * sizeof(float));
    u->gamma = malloc((size_t)total * sizeof(float));
    u->back = calloc((size_t)floats + 64, 1);
    u->s = (trl__search){.frames = &u->frames,
                         .end = FRAMES,
                         .keep = 1,
                         .rows = NODES,
                         .row = u->row,
                         .scores = u->scores,
                         .stays = 1,
                         .nodes = NODES,
                         .node_end = NODES,
                         .node_tied = u->tied,
                         .node_row = u->node_row,
                         .node_first = u->first,
                         .node_end_frame = u->end,
                         .arc_first = u->arc_first,
                         .arc_from = u->arc_from,
                         .arc_weight = u->weight,
                         .arc_transition = u->transition,
                         .back_bits = 1,
                         .alpha = u->alpha,
                         .back = u->back,
                         .back_offset = u->back_offset,
                         .path = u->path,
                         .path_arc = u->path_arc,
                         .shares = 1,
                         .gamma = u->gamma,
                         .gamma_offset = u->gamma_offset,
                         .arc_count = u->arc_count};
}

static trl_model *make_model(int32_t states, int32_t components)
{
    size_t gaussians = (size_t)states * (size_t)components, floats = gaussians * DIM;
    trl_model *m = calloc(1, sizeof *m);
    *m = (trl_model){.dim = DIM, .tied_states = states, .transitions = 1};
    m->first_gaussian = malloc(((size_t)states + 1) * sizeof(int32_t));
    m->log_weight = malloc(gaussians * sizeof(float));
    m->mean = malloc(floats * sizeof(float));
    m->variance = malloc(floats * sizeof(float));
    for (int32_t s = 0; s <= states; s++)
        m->first_gaussian[s] = s * components;
    for (size_t i = 0; i < gaussians; i++)
        m->log_weight[i] = -logf((float)components);
    for (size_t i = 0; i < floats; i++) {
        m->mean[i] = 2 * draw() - 1;
        m->variance[i] = 0.5f + draw();
    }
    return m;
}

device_task device_task_make(const bench_options *o)
{
    device_task t = {.count = o->tiny ? 4 : 32};
    drawn = 9;
    t.model = make_model(o->tiny ? 50 : 2000, WORKLOAD_COMPONENTS);
    t.all = calloc(t.count, sizeof *t.all);
    for (size_t i = 0; i < t.count; i++)
        make_utterance(&t.all[i], t.model, &t.cells);
    t.searches = calloc(t.count, sizeof *t.searches);
    for (size_t i = 0; i < t.count; i++)
        t.searches[i] = t.all[i].s;
    return t;
}

void device_task_free(device_task *t)
{
    for (size_t i = 0; i < t->count; i++) {
        trl_matrix_free(&t->all[i].frames);
        free(t->all[i].scores);
        free(t->all[i].gamma);
        free(t->all[i].back);
    }
    free(t->all);
    free(t->searches);
    free(t->model->first_gaussian);
    free(t->model->log_weight);
    free(t->model->mean);
    free(t->model->variance);
    free(t->model);
}

/* ---- What an operation must do ---- */

double device_task_frames(const device_task *t)
{
    return (double)t->count * FRAMES;
}

void device_needs_per(json_t *roofline, const char *unit, const char *operation, double flops, double bytes,
                      int is_double)
{
    json_t *all = json_object_get(roofline, unit);
    if (!all) {
        all = json_object();
        json_object_set_new(roofline, unit, all);
    }
    json_object_set_new(
        all, operation,
        json_pack("{s:f, s:f, s:s}", "flops", flops, "bytes", bytes, "precision", is_double ? "double" : "single"));
}

void device_task_needs(const device_task *t, int op, double *flops, double *bytes)
{
    double frames = device_task_frames(t), c = WORKLOAD_COMPONENTS, nodes = (double)t->count * NODES;
    double parameters = nodes * c * (1 + 2 * DIM) * 4, lanes = frames * 2 * DIM * 4;
    *flops = 0;
    *bytes = 0;
    if (op == DEVICE_FRAMES) {
        *flops = 2 * frames * DIM;
        *bytes = frames * DIM * 4 + lanes;
    } else if (op == DEVICE_SCORE) {
        *flops = t->cells * c * 4 * DIM;
        *bytes = parameters + lanes + t->cells * 4;
    } else if (op == DEVICE_VITERBI) {
        *flops = t->cells * 5;
        *bytes = t->cells * (4 + 2 * 8 + 0.125);
    } else if (op == DEVICE_BACKTRACK) {
        *bytes = frames * (0.125 + 8);
    } else if (op == DEVICE_FORWARD_BACKWARD) {
        *flops = t->cells * 30;
        *bytes = t->cells * (2 * 4 + 4 * 8 + 4);
    } else { /* step 3: the aligned frames' states once more, then sums */
        double scored = op == DEVICE_ACCUMULATE ? frames : t->cells;
        *flops = scored * c * 8 * DIM;
        *bytes = parameters + scored * (2 * DIM * 4 + DIM * 4 + 2 * c * 4) + nodes * c * (1 + 2 * DIM) * 8;
    }
}
