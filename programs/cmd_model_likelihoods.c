/* trellis model likelihoods: what a model's tied states say of frames. */
#include "cli.h"

#include <inttypes.h>
#include <trellis/feature_file.h>
#include <trellis/likelihood.h>
#include <trellis/model.h>

extern const cli_command cmd_model_likelihoods;

struct values {
    cli_common common;
    const char *output, *list, *device;
};

typedef struct job {
    const struct values *v;
    trl_model *model;
    trl_feature_reader *reader;
    trl_feature_writer *writer;
    trl_likelihood_maker *maker;
    trl_matrix frames, scores;
    size_t utterances, rows;
} job;

static int next(job *j, const char *features, trl_error *err)
{
    const char *id;
    int found = trl_feature_reader_next(j->reader, &id, &j->frames, err);
    if (found <= 0)
        return found;
    if (j->frames.cols != (size_t)trl_model_dim(j->model))
        return cli_error(err, TRL_EINVAL,
                         "%s: utterance %s has frames of %zu values, the model's have %" PRId32
                         "; `trellis features --model` makes frames that fit",
                         features, id, j->frames.cols, trl_model_dim(j->model));
    int code = trl_likelihood_maker_run(j->maker, &j->frames, &j->scores, err);
    if (code == 0)
        code = trl_feature_writer_add(j->writer, id, &j->scores, err);
    j->utterances++;
    j->rows += j->frames.rows;
    return code < 0 ? code : 1;
}

static int work(job *j, char **operands, trl_error *err)
{
    int code = trl_model_import(operands[0], j->v->list, &j->model, err);
    if (code == 0)
        code = trl_feature_reader_open(operands[1], &j->reader, err);
    if (code == 0)
        code = trl_likelihood_maker_create(j->model, j->v->device, &j->maker, err);
    if (code == 0)
        code = trl_feature_writer_open(j->v->output, NULL, &j->writer, err);
    while (code == 0) {
        int more = next(j, operands[1], err);
        if (more <= 0) {
            code = more;
            break;
        }
    }
    if (j->writer && code == 0)
        code = trl_feature_writer_commit(j->writer, err);
    else if (j->writer)
        trl_feature_writer_abort(j->writer);
    return code;
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    job j = {.v = values};
    trl_error err;
    if (!j.v->output)
        return cli_usage_error(&cmd_model_likelihoods, "where to? -o PLACE is missing");
    int code = work(&j, arguments, &err);
    if (code == 0)
        cli_say(&j.v->common, "%zu utterance%s, %zu frames, %" PRId32 " tied states -> %s", j.utterances,
                j.utterances == 1 ? "" : "s", j.rows, trl_model_tied_states(j.model), j.v->output);
    trl_matrix_free(&j.frames);
    trl_matrix_free(&j.scores);
    trl_feature_reader_close(j.reader);
    trl_likelihood_maker_destroy(j.maker);
    trl_model_destroy(j.model);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "PLACE",
     "where the likelihoods go, as features go: x.trf, x.ark, ark,scp:x.ark,x.scp, ark,t:x.txt, npy:DIR"},
    {"list", 0, CLI_TEXT, offsetof(struct values, list), "FILE", "names, as in `trellis model convert`"},
    {"device", 0, CLI_DEVICE, offsetof(struct values, device), "NAME",
     "cpu (default), cpu:avx2 …, opencl, opencl:N, cuda, cuda:N or auto (see `trellis devices`)"},
    {0}};

const cli_command cmd_model_likelihoods = {
    .name = "model likelihoods",
    .synopsis = "MODEL FEATURES -o PLACE",
    .summary = "computes the log-likelihoods of all tied states",
    .description =
        "Reads FEATURES (.trf, .ark, .scp, HTK files: what `trellis features --model MODEL` writes) that fit the MODEL "
        "(of any format that `trellis model convert` reads), and writes "
        "for each utterance a matrix: a row per frame, a column per tied state, natural logarithms. "
        "`trellis align` and `trellis decode` take "
        "such files with --likelihoods.",
    .options = options,
    .examples = "trellis features data/test --model an4.trm -o test.trf\n"
                "trellis model likelihoods an4.trm test.trf -o scores.trf",
    .least = 2,
    .most = 2,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.output = NULL},
    .run = run,
};
