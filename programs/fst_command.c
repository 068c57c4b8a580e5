#include "fst_command.h"

#include <string.h>
#include <trellis/file.h>

int fst_choose(fst_job *job, const char *option, const char *given, const char *const *names, int *value)
{
    *value = 0;
    return cli_choose(job->v->command, option, given, names, value);
}

int fst_weight(fst_job *job, const char *text, const char *option, trl_weight *weight, int *given)
{
    trl_semiring semiring = trl_fst_semiring(job->machine[0]);
    *weight = trl_weight_zero(semiring);
    *given = text != NULL;
    return text && trl_weight_parse(semiring, text, weight) < 0
               ? fst_usage(job, "--%s: \"%s\" is not a weight of the %s semiring", option, text,
                           trl_semiring_name(semiring))
               : 0;
}

int fst_symbols(fst_job *job, const char *path, trl_symbols **symbols)
{
    *symbols = NULL;
    return path ? trl_symbols_read(path, symbols, &job->err) : 0;
}

static const char *machine_path(const fst_job *job, int machine)
{
    return machine < job->count ? job->arguments[machine] : "-";
}

/* Standard input can be read once. */
static int read_machines(fst_job *job)
{
    int from_input = 0, code = 0;
    for (int i = 0; i < job->v->machines; i++)
        from_input += strcmp(machine_path(job, i), "-") == 0;
    if (from_input > 1)
        return fst_usage(job, "only one machine can come from standard input");
    for (int i = 0; code == 0 && i < job->v->machines; i++)
        code = trl_fst_read(machine_path(job, i), &job->machine[i], &job->err);
    return code;
}

static int write_result(fst_job *job)
{
    static const char *const types[] = {"vector", "const", NULL};
    int type;
    int code = fst_choose(job, "fst-type", job->v->fst_type, types, &type);
    if (code != 0)
        return code;
    return trl_fst_write(job->result ? job->result : job->machine[0], job->v->output ? job->v->output : "-",
                         (trl_fst_format)type, &job->err);
}

int fst_open_table(fst_job *job, const char *path, FILE **file)
{
    int code = trl_file_declare_input(path, &job->err);
    *file = code == 0 ? fopen(path, "r") : NULL;
    return code < 0 || *file ? code : cli_error(&job->err, TRL_ENOENT, "%s: can't open", path);
}

int fst_run(void *values, int count, char **arguments)
{
    fst_job job = {.v = values, .count = count, .arguments = arguments};
    int code = job.v->no_result ? 0 : cli_no_terminal(job.v->command, job.v->output);
    if (code == 0)
        code = read_machines(&job);
    trl_file_protect_inputs(1); /* anew: a machine is in memory whole, so the result may replace it */
    if (code == 0)
        code = job.v->work(&job);
    if (code == 0 && !job.v->no_result)
        code = write_result(&job);
    for (int i = 0; i < FST_MOST; i++)
        trl_fst_destroy(job.machine[i]);
    trl_fst_destroy(job.result);
    return code < 0 ? cli_failure(&job.err) : code;
}
