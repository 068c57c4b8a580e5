/* Where the time of recognition goes: sound and features, scores, search, lattices. The same steps as trl_decode_corpus takes, with a clock between
 * them; the clock itself costs some percent, so only shares are told. */
#include "decode_engine.h"
#include "decode/lattice_determinize.h"

typedef struct stage_clock {
    decode_engine engine;
    trl__determinizer *determinizer;
    double scoring, lattice, inside; /* CPU seconds; inside: these and the search */
    int (*fill)(trl__score_group *group, int worker, int32_t first, int32_t end, const int32_t *wanted, int32_t count,
                trl_error *err);
} stage_clock;

/* A group knows its scorer alone. */
static stage_clock *running;

static int timed_fill(trl__score_group *group, int worker, int32_t first, int32_t end, const int32_t *wanted,
                      int32_t count, trl_error *err)
{
    double start = bench_cpu_seconds();
    int code = running->fill(group, worker, first, end, wanted, count, err);
    running->scoring += bench_cpu_seconds() - start;
    return code;
}

static int search(stage_clock *c, const trl_matrix *frames, const trl__raw_lattice **raw, trl_error *err)
{
    double start = bench_cpu_seconds();
    int code = trl__scorer_begin(c->engine.scorer, c->engine.parameters, frames, err);
    c->scoring += bench_cpu_seconds() - start;
    if (code == 0)
        code = trl__decoder_begin(c->engine.decoder, err);
    trl__score_group *group;
    for (int32_t begin = 0; code == 0 && begin < (int32_t)frames->rows; begin += group->frames) {
        trl__scorer_open(c->engine.scorer, begin, &group);
        c->fill = group->fill;
        group->fill = timed_fill;
        code = trl__decoder_advance_group(c->engine.decoder, group, err);
    }
    return code < 0 ? code : trl__decoder_finish(c->engine.decoder, raw, err);
}

static int use_frames(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *err)
{
    (void)u;
    stage_clock *c = user;
    const trl__raw_lattice *raw;
    const trl__determinize_options o = {.acoustic_scale = ENGINE_SCALE, .beam = speed_options().lattice_beam};
    trl_lattice *lattice = NULL;
    double start = bench_cpu_seconds(), beam;
    int code = search(c, frames, &raw, err);
    if (code == 0)
        code = decode_engine_words(&c->engine, raw, err);
    double searched = bench_cpu_seconds();
    if (code == 0)
        code = trl__determinize(c->determinizer, raw, NULL, &o, &lattice, &beam, err);
    trl_lattice_destroy(lattice);
    c->lattice += bench_cpu_seconds() - searched;
    c->inside += bench_cpu_seconds() - start;
    return code;
}

void speed_measure_shares(speed_task *t)
{
    trl_error err;
    stage_clock c = {0};
    running = &c;
    decode_engine_open(&c.engine, t->model, t->graph);
    bench_check(trl__determinizer_create(&c.determinizer, &err), &err);
    double start = bench_cpu_seconds();
    decode_engine_run(&c.engine, t, use_frames, &c);
    double all = bench_cpu_seconds() - start;
    speed_report(t, "share_front_", 100 * (all - c.inside) / all, "%", "of the time for sound files and features");
    speed_report(t, "share_scoring_", 100 * c.scoring / all, "%", "of the time for likelihoods");
    speed_report(t, "share_search_", 100 * (c.inside - c.scoring - c.lattice) / all, "%", "of the time for the search");
    speed_report(t, "share_lattice_", 100 * c.lattice / all, "%", "of the time for determinization");
    trl__determinizer_destroy(c.determinizer);
    decode_engine_close(&c.engine);
}
