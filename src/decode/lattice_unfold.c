/* Any lattice as the search would leave it, an arc for each frame, and then what is done with that. */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/lattice_determinize.h"
#include "decode/lattice_fst.h"

#include <math.h>

/* The lattice with one transition on an arc at most, none on ends. */
static int unfold(const trl_lattice *lattice, trl_lattice **out, trl_error *err)
{
    trl__lattice_draft draft = {0};
    trl_fst *fst;
    int code = trl__lattice_frames_fst(lattice, &fst, err);
    if (code < 0)
        return code;
    code = trl__lattice_draft_fst(fst, &draft, 1, err);
    trl_fst_destroy(fst);
    if (code == 0)
        code = trl__draft_finish(&draft, NULL, out, err);
    trl__draft_free(&draft);
    return code;
}

static void raw_free(trl__raw_lattice *raw)
{
    trl__free(raw->first);
    trl__free(raw->arcs);
    trl__free(raw->final);
    trl__free(raw->time);
}

/* Ends have acoustic costs, too: they become arcs to one last state. */
static void copy_arcs(const trl_lattice_view *l, trl__raw_lattice *raw)
{
    uint32_t count = 0;
    for (int32_t s = 0; s < l->states; s++) {
        raw->first[s] = count;
        raw->final[s] = INFINITY;
        raw->time[s] = l->time[s];
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            int32_t transition = arc->duration > 0 ? l->transitions[arc->transition] : 0;
            raw->arcs[count++] = (trl__raw_arc){arc->next, transition, arc->word, arc->graph, arc->acoustic};
        }
        if (l->ends[s].graph != INFINITY)
            raw->arcs[count++] = (trl__raw_arc){l->states, 0, 0, l->ends[s].graph, l->ends[s].acoustic};
    }
    raw->first[l->states] = raw->first[l->states + 1] = count;
    raw->final[l->states] = 0;
    raw->time[l->states] = l->frames;
}

static int make_raw(const trl_lattice_view *l, trl__raw_lattice *raw, trl_error *err)
{
    size_t states = (size_t)l->states + 1;
    if (l->states >= INT32_MAX - 1)
        return trl__fail(err, TRL_ELIMIT, "a lattice with too many states");
    *raw = (trl__raw_lattice){.states = l->states + 1, .frames = l->frames, .reached_end = l->reached_end};
    raw->first = trl__alloc(states + 1, sizeof *raw->first);
    raw->arcs = trl__alloc(l->first[l->states] + states, sizeof *raw->arcs);
    raw->final = trl__alloc(states, sizeof *raw->final);
    raw->time = trl__alloc(states, sizeof *raw->time);
    if (!raw->first || !raw->arcs || !raw->final || !raw->time)
        return trl__fail_memory(err);
    copy_arcs(l, raw);
    return 0;
}

static int determinize(const trl_lattice *lattice, const trl__determinize_options *options, trl_lattice **out,
                       trl_error *err)
{
    trl_lattice *frames = NULL;
    trl__raw_lattice raw = {0};
    trl__determinizer *determinizer = NULL;
    double beam;
    int code = unfold(lattice, &frames, err);
    if (code < 0)
        return code;
    trl_lattice_view l = trl_lattice_look(frames);
    code = make_raw(&l, &raw, err);
    if (code == 0)
        code = trl__determinizer_create(&determinizer, err);
    if (code == 0)
        code = trl__determinize(determinizer, &raw, lattice->words, options, out, &beam, err);
    trl__determinizer_destroy(determinizer);
    raw_free(&raw);
    trl_lattice_destroy(frames);
    return code;
}

int trl_lattice_determinize(const trl_lattice *lattice, const trl_lattice_scale *scale, double beam, trl_lattice **out,
                            trl_error *err)
{
    *out = NULL;
    if (!(scale->graph > 0 && isfinite(scale->graph) && scale->acoustic >= 0 && isfinite(scale->acoustic)) ||
        !(beam >= 0))
        return trl__fail(err, TRL_EINVAL, "scales of costs must be numbers above 0, and the beam no less");
    if (trl_lattice_look(lattice).states == 0)
        return trl__lattice_create(lattice->words, out, err);
    trl__determinize_options options = {.acoustic_scale = scale->acoustic / scale->graph, .beam = beam / scale->graph};
    int code = determinize(lattice, &options, out, err);
    if (code == 0)
        (*out)->reached_end = lattice->reached_end;
    return code;
}
