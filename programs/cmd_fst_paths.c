/* trellis fst …: distances, best paths, random paths. */
#include "fst_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/file.h>

#define ONE_MACHINE 0, 1, .machines = 1

static const char *const queues[] = {"auto", "fifo", "lifo", "shortest", "state", "top", NULL};
#define QUEUE                                                                                                         \
    FST_OPTION("queue-type", 0, CLI_TEXT, queue_type, "NAME",                                                         \
               "for scripts that use OpenFst's; auto (default), fifo, lifo and state are the same here. top wants a " \
               "machine without cycles, shortest one with best paths")
#define PRUNE \
    FST_OPTION("weight", 0, CLI_TEXT, weight, "WEIGHT", "keep only what is within this weight of the best path")
#define DELTA FST_OPTION("delta", 0, CLI_NUMBER, delta, "N", "of shortest distances; default 1e-6")

/* ---- shortestdistance, reweight ---- */

static int write_distances(fst_job *job, const trl_weight *distance)
{
    trl_semiring semiring = trl_fst_semiring(job->machine[0]);
    trl_file *file;
    int code = trl_file_create(job->v->output ? job->v->output : "-", &file, &job->err);
    if (code < 0)
        return code;
    for (int32_t s = 0; code == 0 && s < trl_fst_states(job->machine[0]); s++) {
        char text[64];
        trl_weight_format(semiring, distance[s], text);
        code = trl_file_print(file, &job->err, "%" PRId32 "\t%s\n", s, text);
    }
    if (code == 0)
        return trl_file_commit(file, &job->err);
    trl_file_abort(file);
    return code;
}

static int shortestdistance(fst_job *job)
{
    trl_weight *distance = NULL;
    int queue;
    int code = fst_choose(job, "queue-type", job->v->queue_type, queues, &queue);
    if (code == 0)
        code = trl_fst_shortestdistance(job->machine[0], job->v->reverse, (trl_queue)queue, (float)job->v->delta,
                                        &distance, &job->err);
    if (code == 0)
        code = write_distances(job, distance);
    free(distance);
    return code;
}

static const cli_option shortestdistance_options[] = {
    FST_OPTION("output", 'o', CLI_TEXT, output, "FILE", "where to write; standard output by default"),
    FST_OPTION("reverse", 0, CLI_FLAG, reverse, NULL, "from each state to the ends, instead of from the start"),
    QUEUE,
    DELTA,
    {0}};
FST_COMMAND(shortestdistance, "[FILE]", "prints the distance of every state from the start",
            "A distance is the sum over all paths: the best one's cost in the tropical and lattice semirings, in log "
            "and real all together. A "
            "state and its distance are on each line, the form that `trellis fst reweight` reads.",
            "trellis fst shortestdistance --reverse machine.fst -o potentials.txt", ONE_MACHINE, .no_result = 1,
            .delta = 1e-6);

/* A line is a state and its potential; states that are not there have the potential zero. */
static int read_potentials(fst_job *job, const char *path, trl_weight *potential)
{
    trl_semiring semiring = trl_fst_semiring(job->machine[0]);
    char line[256];
    FILE *file;
    int number = 0, code = fst_open_table(job, path, &file);
    if (code < 0)
        return code;
    while (code == 0 && fgets(line, sizeof line, file)) {
        char *end, *text;
        long state = strtol(line, &end, 10);
        number++;
        text = end + strspn(end, " \t");
        text[strcspn(text, " \t\r\n")] = '\0';
        if (line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (end == line || state < 0 || state >= trl_fst_states(job->machine[0]) ||
            (*text && trl_weight_parse(semiring, text, &potential[state]) < 0))
            code = cli_error(&job->err, TRL_EFORMAT, "%s:%d: expected a state of the machine and a %s weight", path,
                             number, trl_semiring_name(semiring));
        else if (!*text)
            potential[state] = trl_weight_one(semiring);
    }
    if (code == 0 && ferror(file))
        code = cli_error(&job->err, TRL_EIO, "%s: reading failed", path);
    fclose(file);
    return code;
}

static int reweight(fst_job *job)
{
    trl_fst *fst = job->machine[0];
    size_t states = (size_t)trl_fst_states(fst);
    trl_weight *potential = malloc((states + 1) * sizeof *potential);
    if (!potential)
        return cli_error(&job->err, TRL_ENOMEM, "out of memory");
    for (size_t s = 0; s < states; s++)
        potential[s] = trl_weight_zero(trl_fst_semiring(fst));
    int code = read_potentials(job, job->arguments[1], potential);
    if (code == 0)
        code = trl_fst_reweight(fst, potential, job->v->to_final, &job->err);
    free(potential);
    return code;
}

static const cli_option reweight_options[] = {
    FST_OUTPUT, FST_OPTION("to-final", 0, CLI_FLAG, to_final, NULL, "towards the ends, instead of the start"), {0}};
FST_COMMAND(reweight, "FILE POTENTIALS", "moves weights along a transducer by a potential for each state",
            "POTENTIALS has a state and a weight on each line, as `trellis fst shortestdistance` writes them; other "
            "states have zero.",
            "trellis fst shortestdistance --reverse a.fst -o p.txt && trellis fst reweight a.fst p.txt -o pushed.fst",
            2, 2, .machines = 1);

/* ---- shortestpath, prune ---- */

static int shortestpath(fst_job *job)
{
    const fst_values *v = job->v;
    trl_shortestpath_options o = {
        .paths = v->nshortest, .unique = v->unique, .delta = (float)v->delta, .most_states = v->nstate};
    int queue;
    int code = fst_choose(job, "queue-type", v->queue_type, queues, &queue);
    if (code == 0 && (v->nshortest < 1 || v->nstate < 0))
        code = fst_usage(job, "--nshortest takes a number from 1 up, --nstate from 0 up");
    if (code == 0)
        code = fst_weight(job, v->weight, "weight", &o.prune, &o.has_prune);
    o.queue = (trl_queue)queue;
    return code != 0 ? code : trl_fst_shortestpath(job->machine[0], &o, &job->result, &job->err);
}

static const cli_option shortestpath_options[] = {
    FST_OUTPUT,
    FST_OPTION("nshortest", 'n', CLI_INT, nshortest, "N", "how many paths; default 1"),
    FST_OPTION("unique", 0, CLI_FLAG, unique, NULL,
               "paths with different inputs only, each the best of its input. Epsilons make no difference, unlike in "
               "OpenFst"),
    QUEUE,
    DELTA,
    FST_OPTION("nstate", 0, CLI_INT, nstate, "N", "at most so many states; 0, the default: no limit"),
    PRUNE,
    {0}};
FST_COMMAND(shortestpath, "[FILE]", "finds the best paths of a transducer",
            "The result has these paths and no others, the best one first. In the tropical and lattice semirings.",
            "trellis fst shortestpath lattice.fst | trellis fst print\n"
            "trellis fst shortestpath --nshortest 10 --unique lattice.fst -o best.fst",
            ONE_MACHINE, .nshortest = 1, .delta = 1e-6);

static int prune(fst_job *job)
{
    trl_weight threshold;
    int given;
    int code = fst_weight(job, job->v->weight, "weight", &threshold, &given);
    if (code == 0 && !given && job->v->nstate == 0)
        code = fst_usage(job, "how much shall be kept? --weight, --nstate, or both");
    if (code == 0 && job->v->nstate < 0)
        code = fst_usage(job, "--nstate takes a number from 0 up");
    return code != 0 ? code : trl_fst_prune(job->machine[0], threshold, job->v->nstate, &job->err);
}

static const cli_option prune_options[] = {
    FST_OUTPUT,
    PRUNE,
    FST_OPTION("nstate", 0, CLI_INT, nstate, "N", "keep at most so many states; 0, the default: no limit"),
    {0}};
FST_COMMAND(prune, "[FILE]", "removes states and arcs that are on no good path",
            "What is further than --weight from the best path goes. In the tropical and lattice semirings.",
            "trellis fst prune --weight 8 lattice.fst -o pruned.fst", ONE_MACHINE);

/* ---- randgen ---- */

static int randgen(fst_job *job)
{
    static const char *const kinds[] = {"uniform", "log_prob", NULL};
    const fst_values *v = job->v;
    trl_randgen_options o = {.paths = v->npath,
                             .seed = (uint64_t)v->seed,
                             .longest = v->max_length,
                             .remove_weights = !v->keep_weights,
                             .weighted = v->weighted};
    int kind;
    int code = fst_choose(job, "select", v->select, kinds, &kind);
    if (code == 0 && (v->npath < 1 || v->max_length < 1 || v->seed < 0))
        code = fst_usage(job, "--npath and --max-length take numbers from 1 up, --seed from 0 up");
    o.kind = (trl_randgen_kind)kind;
    return code != 0 ? code : trl_fst_randgen(job->machine[0], &o, &job->result, &job->err);
}

static const cli_option randgen_options[] = {
    FST_OUTPUT,
    FST_OPTION("npath", 0, CLI_INT, npath, "N", "how many paths; default 1"),
    FST_OPTION("seed", 0, CLI_INT, seed, "N", "of the choice; default 1. The same seed gives the same paths"),
    FST_OPTION("max-length", 0, CLI_INT, max_length, "N", "arcs of the longest path; default 2147483647"),
    FST_OPTION("select", 0, CLI_TEXT, select, "HOW",
               "uniform (default): all arcs alike; log_prob: by their weights as probabilities"),
    FST_OPTION("weighted", 0, CLI_FLAG, weighted, NULL, "a tree of the paths, in which they weigh their shares of all"),
    FST_OPTION("keep-weights", 0, CLI_FLAG, keep_weights, NULL,
               "paths with the machine's weights; otherwise without any"),
    {0}};
FST_COMMAND(randgen, "[FILE]", "takes random paths of a transducer", "The result has these paths and no others.",
            "trellis fst randgen --npath 5 --seed 3 grammar.fst | trellis fst print", ONE_MACHINE, .npath = 1,
            .seed = 1, .max_length = INT32_MAX);
