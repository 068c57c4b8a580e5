/* The back-off acoustic model: the reducer on a stream of contexts shaped like [001]'s Tables V and VI, one large mixture, sort, look-ups, memory. */
#include "bam_rescoring.h"
#include "bam_series.h"
#include "bench.h"
#include "bench_bam_redis.h"
#include "child_process.h"

#include "bam/grow_mixture.h"
#include "bam/key_ranges.h"
#include "bam/record_sort.h"
#include "bam/reducer.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/bam_store.h>
#include <unistd.h>

#define DIM 39
#define PAPER_FRAMES_PER_S 182.0 /* of a worker: 31.5 G frames, 1000 workers, 48 hours ([001] IV-F) */
#define MOST_M5 256000           /* frames of a reservoir, for memory */
#define POOL 65536               /* frames that are used again and again */

typedef struct sizes {
    int triphones;  /* of the stream */
    double share;   /* of the frames of its large ones, and of what a reservoir has */
    int64_t frames; /* of the large mixture */
    int sort_mb;    /* of records that are sorted */
    int lookups;
    size_t served; /* M-phones on servers … */
    int batches;   /* … and how often 300 of them are looked up */
} sizes;

static sizes choose(const bench_options *o)
{
    if (o->tiny)
        return (sizes){
            .triphones = 2, .share = 0.01, .frames = 8000, .sort_mb = 4, .lookups = 1000, .served = 400, .batches = 3};
    return (sizes){.triphones = 10,
                   .share = o->quick ? 0.1 : 1,
                   .frames = 262144,
                   .sort_mb = o->quick ? 200 : 1000,
                   .lookups = o->quick ? 200000 : 1000000,
                   .served = 6000,
                   .batches = o->quick ? 200 : 1000};
}

/* Frames of a mixture of 128 Gaussians, so that there is something to find. */
static float *make_frames(void)
{
    float *frames = malloc((size_t)POOL * DIM * sizeof *frames);
    for (uint64_t i = 0; i < POOL; i++) {
        uint64_t centre = trl__random_bits(1, 0, i) % 128;
        for (uint64_t k = 0; k < DIM; k++)
            frames[i * DIM + k] = 3 * trl__random_normal(2, centre, k) + trl__random_normal(3, i, k);
    }
    return frames;
}

/* ---- streams ---- */

typedef struct stream {
    trl__bam_header header;
    trl__bam_writer writer;
    const float *frames;
    uint64_t next; /* frame, and utterance */
    trl__scratch body;
} stream;

static void check(int code, const trl_error *err)
{
    bench_check(code, err);
}

static void open_stream(stream *s, int order, const float *frames, const char *path)
{
    trl_error err;
    char names[41 * 4] = "";
    for (int i = 0; i < 40; i++)
        snprintf(names + strlen(names), 5, "p%02d", i), strcat(names, i < 39 ? "\n" : "");
    *s = (stream){.header = {.order = order, .dim = DIM, .seed = 1, .model = 1}, .frames = frames};
    check(trl_bam_phones_of_text(names, 0, &s->header.phones, &err), &err);
    check(trl__bam_writer_open(path, &s->header, &s->writer, &err), &err);
}

static void close_stream(stream *s)
{
    trl_error err;
    check(trl__bam_writer_commit(&s->writer, &err), &err);
    trl_bam_phones_destroy(s->header.phones);
    trl__scratch_free(&s->body);
}

static void put_record(stream *s, const unsigned char *key, trl__bam_kind kind, size_t frames)
{
    trl_error err;
    size_t key_size = trl_bam_key_size(s->header.order), value = frames ? TRL__BAM_RUN_HEAD + frames * DIM * 4 : 0;
    unsigned char *body = trl__scratch_get(&s->body, key_size + 4 + value, 1);
    if (!body) {
        check(trl__fail_memory(&err), &err);
        return;
    }
    memcpy(body, key, key_size);
    trl__put_le32(body + key_size, (uint32_t)kind);
    if (frames) {
        unsigned char *at = body + key_size + 4;
        trl__put_le32(at, (uint32_t)s->next);
        trl__put_le32(at + 4, (uint32_t)(s->next * 2654435761u));
        trl__put_le32(at + 8, 0);
        memcpy(at + TRL__BAM_RUN_HEAD, s->frames + s->next * 7919 % (POOL - frames) * DIM, frames * DIM * 4);
        s->next++;
    }
    check(trl__bam_write(&s->writer, body, key_size + 4 + value, &err), &err);
}

/* `count` frames of an M-phone, in runs of a few. */
static void put_frames(stream *s, const trl_bam_mphone *m, int64_t count)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    trl_bam_key_write(m, s->header.order, key);
    for (int64_t done = 0; done < count; done += 6)
        put_record(s, key, TRL__BAM_RUN, (size_t)(count - done < 6 ? count - done : 6));
}

static void put_back_off(stream *s, trl_bam_mphone m, int length)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    m.left = m.right = length;
    trl_bam_key_write(&m, s->header.order, key);
    put_record(s, key, TRL__BAM_NOTHING, 0);
}

/* In the tables a triphone with a mixture has nine quinphones with one, and each of these one 7-phone; 57, 36 and 32 Gaussians each, on average, and 750 frames of the stream to a Gaussian in all.
 * So most frames are of few M-phones with far more than can be used. One triphone in ten has 9 x 580,000 frames here (scaled by `share`), the others 56,000. Returns the frames. */
static int64_t put_triphone(stream *s, int number, double share)
{
    trl_bam_mphone m = {.phone = number % 40, .left = 3, .right = 3};
    int64_t frames = 0;
    int large = number % 10 == 0;
    m.left_symbol[0] = m.right_symbol[0] = (uint16_t)(number / 40);
    for (uint16_t quin = 0; quin < 9; quin++) {
        m.left_symbol[1] = m.right_symbol[1] = quin;
        for (int seven = 0; seven < (large ? 1 : 5); seven++) {
            int64_t count = large ? (int64_t)(580000 * share) : seven == 0 ? 4200 : 500;
            m.left_symbol[2] = m.right_symbol[2] = (uint16_t)seven;
            put_frames(s, &m, count);
            frames += count;
        }
        put_back_off(s, m, 2);
    }
    put_back_off(s, m, 1);
    return frames;
}

/* ---- figures ---- */

static trl_bam_options estimation(const sizes *z)
{
    trl_bam_options o = trl_bam_defaults();
    o.most_frames = (int64_t)fmax(256000 * z->share, 6000);
    return o;
}

static void measure_reducer(const sizes *z, const float *frames, const char *folder, json_t *result)
{
    char stream_path[4200], mixtures[4200];
    stream s;
    trl_bam_counts counts;
    trl_error err;
    const trl_bam_options o = estimation(z);
    int64_t total = 0;
    snprintf(stream_path, sizeof stream_path, "%s/stream", folder);
    snprintf(mixtures, sizeof mixtures, "%s/mixtures", folder);
    open_stream(&s, 3, frames, stream_path);
    for (int i = 0; i < z->triphones; i++)
        total += put_triphone(&s, i, z->share);
    close_stream(&s);
    double start = bench_cpu_seconds();
    check(trl_bam_reduce(stream_path, NULL, &o, NULL, mixtures, &counts, &err), &err);
    double seconds = bench_cpu_seconds() - start;
    trl_bam_cell all = trl_bam_total(&counts);
    bench_report(result, "reducer_frames_per_s_core", (double)total / seconds, "1/s", "M = 3, alpha 0.3, beta 2.2");
    bench_report(result, "reducer_vs_paper", (double)total / seconds / PAPER_FRAMES_PER_S, "x",
                 "the paper's worker: 182 frames/s; 300 wanted");
    bench_report(result, "reducer_gaussians_per_s_core", (double)all.gaussians / seconds, "1/s", "");
    bench_report(result, "frames_per_gaussian", (double)total / (double)all.gaussians, "", "the paper's stream: 750");
}

static void measure_mixture(const sizes *z, const float *frames, json_t *result)
{
    trl_bam_options o = trl_bam_defaults();
    trl__reservoir *sample;
    trl__grower *grower;
    trl_pool *pool;
    const trl_model *mixture;
    trl_error err;
    o.alpha = 0.7;
    o.beta = 0.1;
    o.most_frames = z->frames;
    check(trl_pool_create(2, &pool, &err), &err);
    check(trl__reservoir_create((size_t)z->frames, DIM, &sample, &err), &err);
    check(trl__grower_create(DIM, &o, pool, &grower, &err), &err);
    for (int64_t i = 0; i < z->frames; i++) { /* the pool's frames again, each time a little elsewhere */
        float moved[DIM];
        for (int k = 0; k < DIM; k++)
            moved[k] = frames[i % POOL * DIM + k] + 0.3f * trl__random_normal(5, (uint64_t)i, (uint64_t)k);
        trl__reservoir_add(sample, trl__bam_frame_hash(1, (uint32_t)i), moved);
    }
    trl__reservoir_settle(sample);
    double wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
    check(trl__grow_mixture(grower, sample, &mixture, &err), &err);
    bench_report(result, "gmm620_s", bench_wall_seconds() - wall, "s", "two threads, 262,144 frames; 5 wanted");
    bench_report(result, "gmm620_cpu_s", bench_cpu_seconds() - cpu, "s", "of both");
    bench_report(result, "gmm620_components", (double)trl_model_components(mixture, 0), "", "");
    trl__grower_destroy(grower);
    trl__reservoir_destroy(sample);
    trl_pool_destroy(pool);
}

static void measure_sort(const sizes *z, const float *frames, const char *folder, json_t *result)
{
    char unsorted[4200], sorted[4200];
    stream s;
    trl_error err;
    uint64_t bytes = (uint64_t)z->sort_mb * 1000000;
    snprintf(unsorted, sizeof unsorted, "%s/unsorted", folder);
    snprintf(sorted, sizeof sorted, "%s/sorted", folder);
    open_stream(&s, 3, frames, unsorted);
    while (trl_file_position(s.writer.file) < bytes) {
        trl_bam_mphone m = {.phone = (int32_t)(trl__random_bits(7, 0, s.next) % 40), .left = 3, .right = 3};
        for (uint64_t i = 0; i < 3; i++) {
            m.left_symbol[i] = (uint16_t)(trl__random_bits(8, i, s.next) % 40);
            m.right_symbol[i] = (uint16_t)(trl__random_bits(9, i, s.next) % 40);
        }
        put_frames(&s, &m, 6);
        put_back_off(&s, m, 2);
        put_back_off(&s, m, 1);
    }
    bytes = trl_file_position(s.writer.file);
    close_stream(&s);
    double start = bench_cpu_seconds();
    check(trl_bam_sort(unsorted, sorted, (size_t)64 << 20, &err), &err);
    bench_report(result, "sort_mb_per_s", (double)bytes * 1e-6 / (bench_cpu_seconds() - start), "MB/s",
                 "of one core, in memory of 64 MB; 150 wanted");
    unlink(unsorted);
    unlink(sorted);
}

static int put_file(void *user, const void *bytes, size_t size, trl_error *err)
{
    (void)err;
    return fwrite(bytes, 1, size, user) == size ? 0 : TRL_EIO;
}

/* How even the ranges are that reducers get: of a stream whose first triphone, like silence, is most of it. */
static void measure_balance(const char *folder, json_t *result)
{
    static const uint64_t tags[TRL__RUN_TAGS] = {0};
    char path[4200];
    trl__bam_reader reader;
    trl__bam_record record;
    trl__run_writer *writer;
    trl__sorted_run *run;
    trl__key_range *ranges;
    size_t count;
    trl_error err;
    snprintf(path, sizeof path, "%s/stream", folder);
    check(trl__bam_reader_open(path, &reader, &err), &err);
    size_t mark_size = trl__run_mark_size(reader.header.order);
    FILE *file = tmpfile();
    if (!file)
        return bench_absent(result, "partition_balance", "no temporary file");
    check(trl__run_writer_open(put_file, file, mark_size, tags, &writer, &err), &err);
    int code;
    while ((code = trl__bam_read(&reader, &record, &err)) > 0)
        check(trl__run_write(writer, record.body, record.size, &err), &err);
    check(code, &err);
    check(trl__run_writer_close(writer, &err), &err);
    fflush(file);
    check(trl__run_open(dup(fileno(file)), "run", mark_size, &run, &err), &err);
    fclose(file);
    check(trl__key_ranges(&run, 1, 8, &ranges, &count, &err), &err);
    bench_report(result, "partition_balance", (double)ranges[0].bytes / (double)ranges[count - 1].bytes, "x",
                 "largest to smallest of 8 shards; the paper's: 35");
    trl__free(ranges);
    trl__run_close(run);
    trl__bam_reader_close(&reader);
}

typedef struct key_list {
    unsigned char (*keys)[TRL_BAM_KEY_MOST];
    size_t count, capacity;
} key_list;

static int list_key(void *user, const unsigned char *key, const trl_bam_mixture *mixture, trl_error *err)
{
    key_list *l = user;
    (void)mixture, (void)err;
    if (l->count == l->capacity)
        l->keys = realloc(l->keys, (l->capacity = 2 * l->capacity + 64) * sizeof *l->keys);
    memcpy(l->keys[l->count++], key, trl_bam_key_size(3));
    return 0;
}

static void measure_lookups(const sizes *z, const char *folder, json_t *result)
{
    char mixtures[4200], path[4200];
    const char *inputs[] = {mixtures};
    const trl_bam_options o = estimation(z);
    trl_bam_store *store;
    key_list list = {0};
    trl_error err;
    double sum = 0;
    snprintf(mixtures, sizeof mixtures, "%s/mixtures", folder);
    snprintf(path, sizeof path, "%s/store", folder);
    check(trl_bam_store_write(inputs, 1, &o, 4, NULL, path, NULL, &err), &err);
    check(trl_bam_store_open(path, &store, &err), &err);
    check(trl_bam_store_each(store, list_key, &list, &err), &err);
    double start = bench_cpu_seconds();
    for (int i = 0; i < z->lookups; i++) {
        trl_bam_mixture m;
        check(trl_bam_store_get(store, list.keys[trl__random_bits(3, 3, (uint64_t)i) % list.count], &m, &err), &err);
        sum += (double)m.mean[0];
    }
    double seconds = bench_cpu_seconds() - start;
    bench_report(result, "store_lookups_per_s", sum == -1 ? 0 : z->lookups / seconds, "1/s",
                 "in blocks whose checksums were compared; 200,000 wanted");
    trl_bam_store_close(store);
    free(list.keys);
}

/* Five levels that are all full at once: of each order some M-phone is complete, and the next one is there. */
static void put_full_levels(stream *s, int64_t most)
{
    trl_bam_mphone m = {.phone = 0, .left = 5, .right = 5};
    for (int turn = 1; turn <= 5;
         turn++) { /* turns 1 to 4 close at order 2 … 5, which leaves a full level each; turn 5 fills the top */
        for (int i = 0; i < 5; i++)
            m.left_symbol[i] = m.right_symbol[i] = (uint16_t)(i + 1 <= turn ? (i + 1 == turn ? 1 : 2) : 0);
        put_frames(s, &m, most + most / 50);
        for (int length = 4; length >= turn; length--)
            put_back_off(s, m, length);
    }
    for (int length = 4; length >= 1; length--)
        put_back_off(s, m, length);
}

typedef struct reducer_run {
    char path[4200], out[4200], most[32];
} reducer_run;

static void run_reducer(void *user)
{
    const reducer_run *r = user;
    execl(TRELLIS_BUILD_DIR "/programs/trellis", "trellis", "bam", "reduce", r->path, "-o", r->out, "-q", "--threads",
          "1", "--max-frames", r->most, "--min-frames", r->most, "--iterations", "1", "--alpha", "0", "--beta", "32",
          (char *)NULL);
    _exit(127);
}

static void measure_memory(const float *frames, const char *folder, json_t *result)
{
    reducer_run r;
    stream s;
    snprintf(r.path, sizeof r.path, "%s/five", folder);
    snprintf(r.out, sizeof r.out, "%s/five.out", folder);
    snprintf(r.most, sizeof r.most, "%d", MOST_M5);
    open_stream(&s, 5, frames, r.path);
    put_full_levels(&s, MOST_M5);
    close_stream(&s);
    bench_report(result, "reducer_peak_mb_m5", child_run(run_reducer, &r).all * 1.048576, "MB",
                 "in all, five full reservoirs; 240 at most");
    unlink(r.path);
}

static int bench_run(const bench_options *options, json_t *result)
{
    sizes z = choose(options);
    char folder[4096];
    if (options->corpus && strcmp(options->corpus, "synthesised") == 0) {
        bench_bam_series(options, result);
        return 0;
    }
    float *frames = make_frames();
    bench_folder(folder, sizeof folder);
    measure_memory(frames, folder, result);
    measure_reducer(&z, frames, folder, result);
    measure_balance(folder, result);
    measure_mixture(&z, frames, result);
    measure_sort(&z, frames, folder, result);
    measure_lookups(&z, folder, result);
    bench_redis_lookups(folder, z.served, z.batches, result);
    bench_bam_rescoring(options, folder, result);
    bench_remove_folder(folder);
    free(frames);
    return 0;
}

const bench bench_bam = {"bam", "the back-off acoustic model: reducer, mixtures, sort, store, servers, memory",
                         bench_run};
