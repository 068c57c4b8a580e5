#include "align/corpus_passes.h"

#include "align/likelihood_length.h"
#include "align/likelihood_reader.h"
#include "base/fail.h"
#include "base/memory.h"
#include "feat/extract_work.h"
#include "model/model_frontend.h"

#include <stdio.h>
#include <string.h>

#define BATCH_BYTES ((size_t)64 << 20) /* of likelihoods */

/* An utterance on its way: what the file has of it, or why it is left out. */
typedef struct slot {
    const trl_utterance *utterance;
    trl_matrix likelihoods;
    int code; /* 0, or why it can't be used … */
    trl_finding_kind kind;
    trl_error why;
} slot;

struct trl__passes {
    const trl_model *model;
    const trl_corpus *corpus;
    trl_pool *pool;
    trl__passes_options options;
    trl_frontend_options frame_description,
        description;        /* description: of what the passes get, frames or rows of likelihoods */
    trl_frontend *frontend; /* NULL: likelihoods */
    trl__device *device;
    trl__parameters *parameters, *adapted_parameters; /* for frames as they come; NULL: no such frames */
    trl__adaptation *adaptation;                      /* NULL: nobody is adapted */
    int worker_count;
    slot *slots;
    size_t slot_count;
    trl__passes_summary summary;
    const trl__pass *pass; /* the one that runs */
    trl_findings *skipped;
};

int trl__passes_count(const trl_model *model, const trl__passes_options *options)
{
    return 1 + (model->independent.first_gaussian && !options->likelihoods ? options->adapt : 0);
}

/* ---- utterances that are left out ---- */

int trl__passes_refuse(trl__passes *p, size_t slot_index, trl_finding_kind kind, int code, const char *why)
{
    slot *s = &p->slots[slot_index];
    s->kind = kind;
    s->code = code;
    trl__fail(&s->why, code, "%s", why);
    return 0;
}

static int skip_or_fail(trl__passes *p, const slot *s, trl_error *err)
{
    const trl_utterance *u = s->utterance;
    int is_about_text = s->kind == TRL_FINDING_TOO_LONG;
    const char *file = is_about_text ? u->text_source : u->source;
    int64_t line = is_about_text ? u->text_line : u->line;
    if (!p->options.skip_bad)
        return trl__fail_line(err, s->code, file, line, "utterance %s: %s (--skip-bad goes on without it)", u->id,
                              s->why.text);
    p->summary.skipped++;
    return trl_findings_add(p->skipped, s->kind, file, line, u->id, err, "%s", s->why.text);
}

/* The slot's result, when its turn has come. */
static int deliver(trl__passes *p, size_t slot_index, trl_error *err)
{
    const slot *s = &p->slots[slot_index];
    if (s->code < 0)
        return skip_or_fail(p, s, err);
    return p->pass->use ? p->pass->use(p->pass->user, s->utterance, slot_index, err) : 0;
}

/* ---- sound ---- */

/* Chooses the frames and mixtures for an utterance. Returns 1: its speaker is adapted, 0: not; negative on error. */
static int adapt_frames(trl__passes *p, trl__pass_frames *f, trl_error *err)
{
    int is_adapted = p->adaptation
                         ? trl__adaptation_frames(p->adaptation, f->utterance, &f->matrix, f->worker, &f->log_det, err)
                         : 0;
    f->parameters = is_adapted > 0 ? p->adapted_parameters : p->parameters;
    return is_adapted;
}

static trl__pass_frames begin_utterance(trl__passes *p, const trl_utterance *u, const trl_matrix *frames,
                                        double seconds, size_t slot_index, int worker)
{
    p->slots[slot_index].utterance = u;
    p->slots[slot_index].code = 0;
    return (trl__pass_frames){
        .utterance = u, .matrix = frames, .seconds = seconds, .slot = slot_index, .worker = worker};
}

static int work_on_frames(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                          size_t slot_index, int worker, trl_error *err)
{
    trl__passes *p = user;
    trl__pass_frames f = begin_utterance(p, u, frames, seconds, slot_index, worker);
    int code = adapt_frames(p, &f, err);
    return code < 0 ? code : p->pass->work(p->pass->user, &f, err);
}

static int use_result(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index, trl_error *err)
{
    (void)u;
    (void)frames;
    return deliver(user, slot_index, err);
}

static int extract(trl__passes *p, const trl__extract_work *work, size_t *skipped, trl_error *err)
{
    trl_extract_summary summary = {0};
    trl_extract_options o = trl_extract_defaults();
    o.channel = p->options.channel;
    o.skip_bad = p->options.skip_bad;
    o.only = p->options.only;
    o.progress = p->options.progress;
    int code = trl__extract_corpus(p->corpus, p->frontend, &o, p->pool, p->skipped, work, &summary, err);
    *skipped += summary.skipped;
    return code;
}

/* ---- passes that adapt to the speakers ---- */

static int gather_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                             size_t slot_index, int worker, trl_error *err)
{
    trl__passes *p = user;
    trl__pass_frames f = begin_utterance(p, u, frames, seconds, slot_index, worker);
    int code = adapt_frames(p, &f, err);
    if (code < 0 || (code == 0 && p->summary.adaptation.speakers > 0))
        return code;
    return p->pass->work(p->pass->user, &f, err);
}

static int use_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index,
                          trl_error *err)
{
    (void)frames;
    trl__passes *p = user;
    int code = deliver(p, slot_index, err);
    return code < 0 ? code : trl__adaptation_add(p->adaptation, u, slot_index, err);
}

int trl__passes_adapt(trl__passes *p, const trl__pass *pass, trl_error *err)
{
    const trl__extract_work work = {.work = gather_statistics, .use = use_statistics, .user = p};
    size_t skipped = 0;
    if (!p->adaptation)
        return 0;
    int code = trl_findings_create(&p->skipped, err);
    p->pass = pass;
    for (int i = 0; code == 0 && i < p->options.adapt && (i == 0 || p->summary.adaptation.speakers > 0); i++) {
        trl__adaptation_begin(p->adaptation);
        code = extract(p, &work, &skipped, err);
        if (code == 0)
            code = trl__adaptation_end(p->adaptation, err);
        p->summary.adaptation = trl__adaptation_summarise(p->adaptation);
    }
    trl_findings_destroy(p->skipped);
    p->skipped = NULL;
    p->summary.skipped = 0;
    return code;
}

trl__adaptation *trl__passes_adaptation(trl__passes *p)
{
    return p->adaptation;
}

/* ---- likelihoods ---- */

/* Refuses the slot where its utterance's sound has another length. *seconds: of sound; 0: not known. */
static int compare_length(trl__passes *p, const slot *s, size_t index, double *seconds, trl_error *err)
{
    trl_error why;
    int known = trl__utterance_seconds(s->utterance, seconds, err);
    if (known <= 0)
        return known;
    int code = trl__likelihood_length_check(p->options.likelihoods, s->likelihoods.rows, &p->frame_description,
                                            p->options.subsampling, *seconds, &why);
    return code < 0 ? trl__passes_refuse(p, index, TRL_FINDING_LIKELIHOOD_LENGTH, code, why.text) : 0;
}

static int work_on_slot(void *user, size_t index, int worker, trl_error *err)
{
    trl__passes *p = user;
    const slot *s = &p->slots[index];
    trl__pass_frames f = {.utterance = s->utterance, .matrix = &s->likelihoods, .slot = index, .worker = worker};
    int code = s->code < 0 ? 0 : compare_length(p, s, index, &f.seconds, err);
    return code < 0 || s->code < 0 ? code : p->pass->work(p->pass->user, &f, err);
}

static int is_wanted(const trl__passes *p, const trl_utterance *u, int *code, trl_error *err)
{
    if (p->options.only && strcmp(p->options.only, u->id) != 0)
        return 0;
    if (u->bad && !p->options.skip_bad)
        *code = trl__fail_line(err, TRL_EINVAL, u->source, u->line,
                               "utterance %s can't be used; `trellis corpus check` says why, --skip-bad leaves it out",
                               u->id);
    return !u->bad;
}

/* Fills a slot with an utterance's likelihoods, or with the reason why there are none. */
static int fill_slot(trl__passes *p, trl__likelihood_reader *r, size_t number, size_t slot_index, trl_error *err)
{
    slot *s = &p->slots[slot_index];
    char why[sizeof s->why.text];
    s->utterance = trl_corpus_get(p->corpus, number);
    s->code = 0;
    int found = trl__likelihood_reader_find(r, number, &s->likelihoods, err);
    if (found < 0 || (found > 0 && s->likelihoods.rows > 0))
        return found < 0 ? found : 0;
    snprintf(why, sizeof why, "%s has %s for it", p->options.likelihoods, found ? "a matrix without rows" : "nothing");
    return trl__passes_refuse(p, slot_index, TRL_FINDING_NO_LIKELIHOODS, TRL_ENOENT, why);
}

/* The next utterances from *number on: as many as there are slots, or bytes. */
static int gather_batch(trl__passes *p, trl__likelihood_reader *r, size_t *number, size_t *filled, trl_error *err)
{
    size_t bytes = 0;
    int code = 0;
    for (*filled = 0; code == 0 && *number < trl_corpus_count(p->corpus); ++*number) {
        if (*filled == p->slot_count || bytes > BATCH_BYTES)
            break;
        const trl_utterance *u = trl_corpus_get(p->corpus, *number);
        if (!is_wanted(p, u, &code, err)) {
            p->summary.skipped += u->bad && !p->options.only;
            continue;
        }
        code = fill_slot(p, r, *number, *filled, err);
        const trl_matrix *m = &p->slots[(*filled)++].likelihoods;
        bytes += m->rows * m->cols * sizeof(float);
    }
    return code;
}

static int run_likelihoods(trl__passes *p, trl_error *err)
{
    trl__likelihood_reader *r;
    size_t number = 0, filled = 1;
    if (p->options.only && trl_corpus_find(p->corpus, p->options.only) < 0)
        return trl__fail(err, TRL_ENOENT, "there is no utterance '%s' in the corpus", p->options.only);
    int code = trl__likelihood_reader_open(p->options.likelihoods, p->corpus, p->model->tied_states, &r, err);
    while (code == 0 && filled > 0) {
        code = gather_batch(p, r, &number, &filled, err);
        if (code == 0)
            code = trl_pool_for(p->pool, filled, work_on_slot, p, err);
        for (size_t i = 0; code == 0 && i < filled; i++) {
            code = deliver(p, i, err);
            trl_progress_add(p->options.progress, 1);
        }
    }
    trl__likelihood_reader_close(r);
    return code;
}

int trl__passes_run(trl__passes *p, const trl__pass *pass, trl_findings *skipped, trl_error *err)
{
    const trl__extract_work work = {.work = work_on_frames, .use = use_result, .user = p};
    p->pass = pass;
    p->skipped = skipped;
    return p->options.likelihoods ? run_likelihoods(p, err) : extract(p, &work, &p->summary.skipped, err);
}

/* ---- setting up ---- */

/* Without a description, likelihoods from elsewhere have frames of 25 ms every 10 ms. */
static int read_frontend(trl__passes *p, trl_error *err)
{
    const trl__passes_options *o = &p->options;
    if (!o->likelihoods)
        return trl__model_frontend_make(p->model, o->online, &p->description, &p->frontend, err);
    int code = trl_model_read_frontend(p->model, o->online, &p->description, err);
    p->frame_description = p->description; /* the transform is that one's */
    trl__subsample(&p->description, o->subsampling);
    return code;
}

static int load_model(trl__passes *p, trl_error *err)
{
    const trl_model first = trl__model_first_pass(p->model);
    int code = trl__device_load_model(p->device, &first, p->pool, &p->parameters, err);
    if (code < 0 || trl__passes_count(p->model, &p->options) == 1 || !trl__adaptation_is_possible(p->corpus))
        return code;
    code = trl__device_load_model(p->device, p->model, p->pool, &p->adapted_parameters, err);
    return code < 0 ? code
                    : trl__adaptation_create(p->model, p->corpus, p->options.only, p->slot_count, p->worker_count,
                                             &p->adaptation, err);
}

static int set_up(trl__passes *p, trl_error *err)
{
    int code = read_frontend(p, err);
    if (code < 0)
        return code;
    p->worker_count = trl_pool_threads(p->pool);
    p->slot_count = trl__extract_slots(p->pool);
    p->slots = trl__alloc_zero(p->slot_count, sizeof *p->slots);
    if (!p->slots)
        return trl__fail_memory(err);
    code = trl__device_open(p->options.device ? p->options.device : "cpu", &p->device, err);
    if (code == 0)
        code = trl__device_check_threads(p->device, p->worker_count, err);
    return code == 0 && !p->options.likelihoods ? load_model(p, err) : code;
}

int trl__passes_create(const trl_model *model, const trl_corpus *corpus, const trl__passes_options *options,
                       trl_pool *pool, trl__passes **out, trl_error *err)
{
    trl__passes *p = *out = trl__alloc_zero(1, sizeof *p);
    if (!p)
        return trl__fail_memory(err);
    p->model = model;
    p->corpus = corpus;
    p->options = *options;
    p->pool = pool;
    int code = set_up(p, err);
    if (code < 0) {
        trl__passes_destroy(p);
        *out = NULL;
    }
    return code;
}

void trl__passes_destroy(trl__passes *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->slots && i < p->slot_count; i++)
        trl_matrix_free(&p->slots[i].likelihoods);
    trl__free(p->slots);
    trl__adaptation_destroy(p->adaptation);
    trl__parameters_free(p->parameters);
    trl__parameters_free(p->adapted_parameters);
    trl__device_close(p->device);
    trl_frontend_destroy(p->frontend);
    trl_matrix_free(&p->description.transform);
    trl__free(p);
}

trl__device *trl__passes_device(const trl__passes *p)
{
    return p->device;
}

const trl_frontend_options *trl__passes_frontend(const trl__passes *p)
{
    return &p->description;
}

int trl__passes_workers(const trl__passes *p)
{
    return p->worker_count;
}

size_t trl__passes_slots(const trl__passes *p)
{
    return p->slot_count;
}

trl__passes_summary trl__passes_summarise(const trl__passes *p)
{
    return p->summary;
}
