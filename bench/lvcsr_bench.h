/* What the parts of `trellis-bench lvcsr` share.
 *
 * A part answers one question (pocketsphinx beside ours; a trained model's curves; threads; likelihoods) in files of its own, lvcsr_*.c. It is a
 * `const lvcsr_part`, named in the table of bench_lvcsr.c and declared at the end of this header; nothing else has to know of it. Parts run in the
 * table's order, each by itself: what one has made another does not find, except the curves, which are drawn together at the end.
 *
 *     static const char *const keys[] = {"all_states_fma_share", NULL};     // every one is in the result, whatever happens
 *     static const char *measure(lvcsr_bench *b)
 *     {
 *         if (!bench_shared("text", path))
 *             return "../shared/data/text is not there";                    // the part's keys become null, with this reason
 *         bench_report(b->result, "all_states_fma_share", share, "", "…");
 *         return NULL;
 *     }
 *     const lvcsr_part lvcsr_states = {"states", keys, measure};
 *
 * --quick takes a minute or two for all parts together, --tiny seconds; the keys are the same. --corpus NAME runs the part of that name alone.
 */
#ifndef TRELLIS_BENCH_LVCSR_BENCH_H
#define TRELLIS_BENCH_LVCSR_BENCH_H

#include "bench.h"

#define LVCSR_MOST_CURVES 40
#define LVCSR_MOST_POINTS 20

/* Word errors against speed, as in [004], Fig. 3: a point for each beam. */
typedef struct lvcsr_point {
    double beam;
    double rtf; /* seconds of one core, or of the clock where threads are compared, per second of sound */
    double wer; /* % */
} lvcsr_point;

typedef struct lvcsr_curve {
    char task[32];   /* what was recognised: curves of one task are drawn in one picture */
    char system[48]; /* "trellis", "pocketsphinx", "32 Gaussians, 2 threads" … */
    lvcsr_point points[LVCSR_MOST_POINTS];
    size_t count;
} lvcsr_curve;

typedef struct lvcsr_bench {
    const bench_options *options;
    json_t *result;
    lvcsr_curve curves[LVCSR_MOST_CURVES];
    size_t curve_count;
} lvcsr_bench;

typedef struct lvcsr_part {
    const char *name;
    const char *const *keys;                /* NULL at the end */
    const char *(*measure)(lvcsr_bench *b); /* NULL, or why there are no figures; keys that it left out become null */
} lvcsr_part;

/* ---- Curves (lvcsr_curves.c) ---- */

lvcsr_curve *lvcsr_add_curve(lvcsr_bench *b, const char *task, const char *system); /* empty; of the bench */
void lvcsr_add_point(lvcsr_curve *c, lvcsr_point point);
/* The real-time factor at which a curve comes down to this error rate: between two points by the straight line; INFINITY: it never does. */
double lvcsr_rtf_at(const lvcsr_curve *c, double wer);
/* The least error rate within this real-time factor, likewise; INFINITY: it is never so fast. */
double lvcsr_wer_at(const lvcsr_curve *c, double rtf);
void lvcsr_print_curves(const lvcsr_bench *b); /* a table of each, "curves" in the result, and --plot */

/* ---- Parts ---- */

extern const lvcsr_part lvcsr_english; /* en-us beside pocketsphinx: AN4, TIMIT, pocketsphinx-testdata */
extern const lvcsr_part lvcsr_states;  /* likelihoods of all states against the peak of the processor */
extern const lvcsr_part lvcsr_synth;   /* synthesised speech, models trained on it: threads and look-ahead */

#endif
