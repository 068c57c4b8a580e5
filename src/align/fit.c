/* The fit of an utterance, piece by piece so that memory does not grow with its length, and the rule by which some stand out. */
#include "align/fit.h"
#include "align/aligner_data.h"
#include "base/fail.h"
#include "model/model_data.h"
#include "model/unit_kind.h"

#include <math.h>
#include <stdlib.h>

#define PIECE 3000 /* frames */
#define FAR_OFF 50 /* log-likelihood: what is further behind counts as this, so that no single frame decides */

#define LEAST_UTTERANCES 10 /* for a median and a spread */
#define DEVIATIONS 6
#define LEAST_DISTANCE 0.06
#define LONE_DISTANCE 0.25 /* below 1, where there are fewer */
#define FULL_WEIGHT 100    /* frames */
#define NORMAL 1.4826      /* median deviation times this: the standard deviation of a normal distribution */

void trl__rivals_choose(trl__rivals *rivals, const trl_model *model)
{
    rivals->unknown = trl__spoken_noise_unit(model);
    rivals->count = model->tied_states < TRL__RIVALS ? model->tied_states : TRL__RIVALS;
    for (int32_t i = 0; i < rivals->count; i++)
        rivals->tied[i] = (int32_t)((int64_t)i * model->tied_states / rivals->count);
}

/* ---- one utterance ---- */

static void add_row(trl__rows *rows, int32_t tied, int32_t first, int32_t end)
{
    rows->items[rows->count++] = (trl__row){tied, first, end, rows->floats};
    rows->floats += (int64_t)(end - first + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
}

/* A row for each rival, then one for each stay of the path in a tied state. */
static int make_rows(trl__aligner *a, const trl__rivals *rivals, int32_t begin, int32_t end, trl_error *err)
{
    trl__rows *rows = &a->rows;
    const int32_t *path = a->search.path, *tied = a->graph->node_tied;
    if (TRL_GROW(rows->items, rows->capacity, (size_t)(rivals->count + end - begin)) < 0)
        return trl__fail_memory(err);
    rows->count = 0;
    rows->floats = 0;
    for (int32_t i = 0; i < rivals->count; i++)
        add_row(rows, rivals->tied[i], begin, end);
    for (int32_t t = begin, first = begin; t < end; t++)
        if (t + 1 == end || tied[path[t + 1]] != tied[path[t]]) {
            add_row(rows, tied[path[t]], first, t + 1);
            first = t + 1;
        }
    return 0;
}

static double score_at(const trl__search *s, const trl__row *row, int32_t t)
{
    return (double)s->scores[row->offset + t - row->first];
}

static double behind(double best, double score)
{
    double difference = best - score;
    return difference < FAR_OFF ? difference : FAR_OFF; /* that of two impossible ones too */
}

typedef struct comparison {
    double path_behind, rivals_behind;
    int32_t frames;
} comparison;

static int is_judged(const trl__aligner *a, const trl__rivals *rivals, int32_t t)
{
    return a->graph->phone[a->graph->node_phone[a->search.path[t]]].unit != rivals->unknown;
}

static void compare(const trl__aligner *a, const trl__search *s, const trl__rivals *with, comparison *sums)
{
    int32_t rivals = with->count;
    const trl__row *path = s->row + rivals;
    for (int32_t t = s->begin; t < s->end; t++) {
        path += t == path->end;
        if (!is_judged(a, with, t))
            continue;
        double best = score_at(s, path, t), sum = 0;
        for (int32_t r = 0; r < rivals; r++) {
            double score = score_at(s, s->row + r, t);
            best = score > best ? score : best;
        }
        for (int32_t r = 0; r < rivals; r++)
            sum += behind(best, score_at(s, s->row + r, t));
        sums->path_behind += behind(best, score_at(s, path, t));
        sums->rivals_behind += sum / rivals;
        sums->frames++;
    }
}

int trl__aligner_fit(trl__aligner *aligner, const trl__rivals *rivals, double *fit, int32_t *frames, trl_error *err)
{
    comparison sums = {0};
    int code = 0;
    for (int32_t begin = 0; code == 0 && begin < aligner->frames; begin += PIECE) {
        trl__search piece = aligner->search;
        piece.begin = begin;
        piece.stays = 0; /* they are compared here */
        piece.end = aligner->frames - begin > PIECE ? begin + PIECE : aligner->frames;
        code = make_rows(aligner, rivals, piece.begin, piece.end, err);
        if (code == 0)
            code = trl__aligner_score_rows(aligner, &piece, 1, err);
        if (code == 0)
            code = trl__stream_wait(aligner->stream, err);
        if (code == 0)
            compare(aligner, &piece, rivals, &sums);
    }
    *fit = sums.rivals_behind > 0 ? 1 - sums.path_behind / sums.rivals_behind : 1;
    *frames = sums.frames;
    return code;
}

/* ---- all of them ---- */

int trl__fits_add(trl__fits *fits, const trl_utterance *utterance, double fit, int32_t frames, trl_error *err)
{
    if (TRL_GROW(fits->items, fits->capacity, fits->count + 1) < 0)
        return trl__fail_memory(err);
    fits->items[fits->count++] = (trl__fit){utterance, fit, frames};
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* What is usual, and how far below it is too far. */
static int find_bound(const trl__fits *fits, double *usual, double *distance, trl_error *err)
{
    *usual = 1;
    *distance = LONE_DISTANCE;
    if (fits->count < LEAST_UTTERANCES)
        return 0;
    double *values = trl__alloc(fits->count, sizeof *values);
    if (!values)
        return trl__fail_memory(err);
    for (size_t i = 0; i < fits->count; i++)
        values[i] = fits->items[i].fit;
    *usual = median(values, fits->count);
    for (size_t i = 0; i < fits->count; i++)
        values[i] = fabs(fits->items[i].fit - *usual);
    *distance = fmax(LEAST_DISTANCE, DEVIATIONS * NORMAL * median(values, fits->count));
    trl__free(values);
    return 0;
}

int trl__fits_judge(const trl__fits *fits, trl_findings *findings, trl_error *err)
{
    double usual, distance;
    int code = find_bound(fits, &usual, &distance, err);
    for (size_t i = 0; code == 0 && i < fits->count; i++) {
        const trl__fit *f = &fits->items[i];
        const trl_utterance *u = f->utterance;
        if ((usual - f->fit) * sqrt(fmin(1, (double)f->frames / FULL_WEIGHT)) > distance)
            code = trl_findings_add(findings, TRL_FINDING_MISFIT, u->text_source ? u->text_source : u->source,
                                    u->text_line, u->id, err,
                                    "the words hardly fit the sound (fit %.2f, usual is %.2f)", f->fit, usual);
    }
    return code;
}

void trl__fits_free(trl__fits *fits)
{
    trl__free(fits->items);
    *fits = (trl__fits){0};
}
