/* trellis bam load: a store to a Redis Cluster. */
#include "cli.h"

#include <inttypes.h>
#include <trellis/bam_store.h>

extern const cli_command cmd_bam_load;

struct values {
    cli_common common;
};

static int count_mphones(const char *path, uint64_t *mphones, trl_error *err)
{
    trl_bam_store *store;
    int code = trl_bam_store_open(path, &store, err);
    if (code == 0)
        *mphones = trl_bam_store_describe(store).mphones;
    if (code == 0)
        trl_bam_store_close(store);
    return code;
}

static int run(void *values, int count, char **arguments)
{
    const struct values *v = values;
    trl_bam_load_summary summary;
    uint64_t mphones = 0;
    trl_error err;
    (void)count;
    if (count_mphones(arguments[0], &mphones, &err) < 0)
        return cli_failure(&err);
    trl_progress *progress = cli_progress(&v->common, "loading", "M-phones", mphones);
    int code = trl_bam_load(arguments[0], arguments[1], progress, &summary, &err);
    trl_progress_destroy(progress);
    if (code < 0)
        return cli_failure(&err);
    cli_say(&v->common, "%" PRIu64 " M-phones, %.1f MB, on %zu servers -> %s", summary.mphones,
            (double)summary.bytes * 1e-6, summary.servers, arguments[1]);
    return EXIT_CLEAN;
}

static const cli_option options[] = {{0}};

const cli_command cmd_bam_load = {
    .name = "bam load",
    .synopsis = "STORE redis://HOST:PORT[,HOST:PORT…]/NAME",
    .summary = "copies a store of M-phones to a Redis Cluster, which serves it to many",
    .description =
        "HOST:PORT is any server of the cluster, or several of which one must answer; the others are found. NAME is "
        "the "
        "model's, so that a cluster can have several. M-phones with the same central triphone and state are on one "
        "server. A model of the same name is replaced in one step, once all of the new one is there and the replicas "
        "have it too.\n\n"
        "User and password come from the environment, never from the command line: TRELLIS_REDIS_USER and "
        "TRELLIS_REDIS_PASSWORD, or a file named by TRELLIS_REDIS_CONFIG with lines `user NAME` and `password WORD`. "
        "TRELLIS_REDIS_TIMEOUT is how many seconds a server may be silent (2), TRELLIS_REDIS_WAIT how long another may "
        "take to step in for one that is gone (15). docs/bam-serving.md has more, also how to tunnel through TLS.",
    .options = options,
    .examples = "trellis bam load bam.store redis://127.0.0.1:7000/bam\n"
                "trellis bam load bam.store redis://a:6379,b:6379,c:6379/english-2",
    .least = 2,
    .most = 2,
    .values_size = sizeof(struct values),
    .run = run,
};
