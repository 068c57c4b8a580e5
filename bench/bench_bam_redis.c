#include "bench_bam_redis.h"

#include "bam/bam_stream.h"
#include "bam/lookup.h"
#include "base/bytes.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "redis_lookups_per_s"
#define ORDER 3
#define DIM 39
#define GAUSSIANS 64 /* 20.2 KB: 64 weights, and 39 means and variances each */
#define BATCH 300
#define PHONES 40

/* M-phones in the order of their keys; triphones differ, so that all servers have some. */
static void number_key(size_t number, unsigned char *key)
{
    trl_bam_mphone m = {.phone = (int32_t)(number / (PHONES * PHONES)) % PHONES,
                        .state = (int32_t)(number / (PHONES * PHONES * PHONES)),
                        .left = 1,
                        .right = 1,
                        .left_symbol = {(uint16_t)(number / PHONES % PHONES)},
                        .right_symbol = {(uint16_t)(number % PHONES)}};
    trl_bam_key_write(&m, ORDER, key);
}

static void write_mixtures(const char *path, size_t mphones)
{
    trl__bam_header header = {.order = ORDER, .dim = DIM, .seed = 1};
    trl__bam_writer writer;
    trl_error err;
    char names[PHONES * 4 + 1];
    int used = 0;
    size_t floats = GAUSSIANS * (1 + 2 * DIM), head = trl_bam_key_size(ORDER) + 4;
    unsigned char *body = calloc(head + TRL__BAM_MIXTURE_HEAD + 4 * floats, 1);
    for (int p = 0; p < PHONES; p++)
        used += snprintf(names + used, sizeof names - (size_t)used, "p%02d\n", p);
    bench_check(trl_bam_phones_of_text(names, 0, &header.phones, &err), &err);
    bench_check(trl__bam_writer_open(path, &header, &writer, &err), &err);
    trl__put_le32(body + head - 4, TRL__BAM_MIXTURE);
    trl__put_le32(body + head, GAUSSIANS);
    trl__put_le64(body + head + 8, 4000);
    for (size_t i = 0; i < mphones; i++) {
        number_key(i, body);
        for (size_t k = 0; k < floats; k++)
            trl__put_le32(body + head + TRL__BAM_MIXTURE_HEAD + 4 * k, trl__bits_of_float((float)(i + k + 1)));
        bench_check(trl__bam_write(&writer, body, head + TRL__BAM_MIXTURE_HEAD + 4 * floats, &err), &err);
    }
    bench_check(trl__bam_writer_commit(&writer, &err), &err);
    trl_bam_phones_destroy(header.phones);
    free(body);
}

/* Three servers, which end when the stream that is returned is closed. The address comes through a FIFO, empty where there is no Redis. */
static FILE *start_servers(const char *folder, char address[128])
{
    char command[9000], fifo[4200];
    snprintf(fifo, sizeof fifo, "%s/address", folder);
    snprintf(
        command, sizeof command,
        "exec bash -c 'source \"$0/tests/cli/redis.bash\"; trap end_redis EXIT; command -v redis-server >/dev/null "
        "&& start_redis \"$1/redis\" 3 0 && echo \"redis://127.0.0.1:${ports[0]}/bench\" >\"$1/address\" || echo "
        ">\"$1/address\"; cat >/dev/null' '%s' '%s'",
        TRELLIS_SOURCE_DIR, folder);
    address[0] = '\0';
    if (mkfifo(fifo, 0600) != 0)
        return NULL;
    FILE *servers = popen(command, "w");
    FILE *answer = servers ? fopen(fifo, "r") : NULL;
    if (answer && fscanf(answer, "%127s", address) != 1)
        address[0] = '\0';
    if (answer)
        fclose(answer);
    unlink(fifo);
    return servers;
}

/* Batches of consecutive M-phones, from a random one on: each has its keys once. */
static double look_up(trl__lookup *lookup, size_t mphones, int batches)
{
    static trl__lookup_result results[BATCH];
    size_t key_size = trl_bam_key_size(ORDER);
    unsigned char *keys = malloc(BATCH * key_size);
    trl_error err;
    double start = bench_wall_seconds();
    for (int b = 0; b < batches; b++) {
        size_t first = trl__random_bits(3, 4, (uint64_t)b) % mphones;
        for (size_t i = 0; i < BATCH; i++)
            number_key((first + i) % mphones, keys + i * key_size);
        bench_check(lookup->fetch(lookup, keys, BATCH, results, &err), &err);
        for (size_t i = 0; i < BATCH; i++)
            if (results[i].status != TRL__LOOKUP_FOUND || results[i].mixture.components != GAUSSIANS) {
                fprintf(stderr, "trellis-bench: the cluster lacks an M-phone that was loaded\n");
                exit(1);
            }
    }
    double seconds = bench_wall_seconds() - start;
    free(keys);
    return (double)BATCH * batches / seconds;
}

void bench_redis_lookups(const char *folder, size_t mphones, int batches, json_t *result)
{
    char mixtures[4200], store[4200], address[128];
    const char *inputs[] = {mixtures};
    trl_bam_options o = trl_bam_defaults();
    trl__lookup *lookup;
    trl_error err;
    snprintf(mixtures, sizeof mixtures, "%s/served", folder);
    snprintf(store, sizeof store, "%s/served.store", folder);
    write_mixtures(mixtures, mphones);
    bench_check(trl_bam_store_write(inputs, 1, &o, 1, NULL, store, NULL, &err), &err);
    FILE *servers = start_servers(folder, address);
    int code = address[0] ? trl_bam_load(store, address, NULL, NULL, &err) : TRL_EUNSUPPORTED;
    if (code == TRL_EUNSUPPORTED)
        bench_absent(result, KEY, "redis-server is not installed");
    else {
        bench_check(code, &err);
        bench_check(trl__lookup_open(address, &lookup, &err), &err);
        look_up(lookup, mphones, 2); /* connections are made */
        bench_report(result, KEY, look_up(lookup, mphones, batches), "1/s",
                     "20 KB each, batches of 300, three masters; 15,000 wanted");
        lookup->destroy(lookup);
    }
    if (servers)
        pclose(servers);
}
