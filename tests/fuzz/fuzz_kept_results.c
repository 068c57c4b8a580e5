/* Files of results that are kept: once as the bytes are, and once with the checksums of the blocks put right, so that
 * what the blocks hold is reached too. What is opened is cut behind its last whole block, so opening it again finds
 * the same; and a result that is added is found. */
#define _GNU_SOURCE
#include "align/kept_alignment.h"
#include "base/memory.h"
#include "decode/graph_data.h"
#include "decode/kept_decoding.h"
#include "feat/kept_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#define TITLE 16
#define HEAD 24 /* of a block: u32 kind, u32 length of the name, u64 length of the content, u64 hash */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct head {
    uint32_t kind, name_size;
    uint64_t size, hash;
} head;

/* The block at this place, or 0: there is not so much. */
static int block_at(const uint8_t *data, size_t size, size_t at, head *h)
{
    if (size < HEAD || at > size - HEAD)
        return 0;
    memcpy(h, data + at, HEAD);
    size_t left = size - at - HEAD;
    return h->name_size <= left && h->size <= left - h->name_size;
}

static void repair(uint8_t *data, size_t size)
{
    head h;
    for (size_t at = TITLE; block_at(data, size, at, &h); at += HEAD + h.name_size + (size_t)h.size) {
        uint64_t hash = XXH3_64bits(data + at, HEAD - sizeof hash);
        hash = XXH3_64bits_withSeed(data + at + HEAD, h.name_size, hash);
        hash = XXH3_64bits_withSeed(data + at + HEAD + h.name_size, (size_t)h.size, hash);
        memcpy(data + at + HEAD - sizeof hash, &hash, sizeof hash);
    }
}

static void must(int is_so)
{
    if (!is_so)
        abort();
}

static size_t read_labels(const trl__segment_list *list)
{
    size_t length = 0;
    for (size_t i = 0; i < list->count; i++)
        length += strlen(list->items[i].label);
    return length;
}

static void take_alignment(const unsigned char *bytes, size_t size)
{
    trl__aligned aligned;
    trl__segmentation g = {0};
    trl_error err;
    if (trl__alignment_take(bytes, size, &aligned, &g, &err) == 0)
        must(read_labels(&g.words) + read_labels(&g.phones) + read_labels(&g.states) <= (size_t)-1 / 2);
    trl__segments_free(&g);
}

static void take_decoding(const unsigned char *bytes, size_t size)
{
    trl_graph graph = {0};
    trl__decoded d = {0};
    trl_error err;
    if (trl_symbols_create("words", &graph.symbols, &err) < 0)
        return;
    trl__decoding_take(bytes, size, &graph, &d, &err);
    trl__best_words_free(&d.best);
    trl_lattice_destroy(d.lattice);
    trl__free(d.segments);
    trl_symbols_destroy(graph.symbols);
}

static void take_frames(const unsigned char *bytes, size_t size)
{
    trl__heard sound;
    trl_cmvn *sums;
    trl_matrix frames = {0};
    trl_error err;
    if (trl_cmvn_create(2, &sums, &err) < 0)
        return;
    if (trl__frames_take(bytes, size, 2, &sound, sums, &frames, &err) == 0)
        must(frames.cols == 2 && frames.rows > 0 && frames.rows <= size);
    trl_matrix_free(&frames);
    trl_cmvn_destroy(sums);
}

/* Every result of the jobs, as each kind of result. */
static void read_jobs(trl_kept *kept, const uint8_t *data, size_t size)
{
    head h;
    uint64_t job;
    trl_error err;
    for (size_t at = TITLE; block_at(data, size, at, &h); at += HEAD + h.name_size + (size_t)h.size) {
        const char *name = (const char *)data + at + HEAD;
        if (h.kind == 1 && h.size == sizeof job) {
            memcpy(&job, name + h.name_size, sizeof job);
            trl__kept_begin(kept, job, &err);
            continue;
        }
        char *id = malloc((size_t)h.name_size + 1);
        if (!id)
            return;
        memcpy(id, name, h.name_size);
        id[h.name_size] = '\0';
        size_t found;
        const unsigned char *bytes = trl__kept_find(kept, id, &found);
        free(id);
        if (!bytes)
            continue;
        take_alignment(bytes, found);
        take_decoding(bytes, found);
        take_frames(bytes, found);
    }
}

static void read_all(int fd, const uint8_t *data, size_t size)
{
    char path[64];
    trl_kept *kept;
    trl_error err;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    if (trl_kept_open(path, 1, &kept, &err) < 0)
        return;
    size_t count = *trl_kept_count(kept);
    read_jobs(kept, data, size);
    must(trl__kept_add(kept, "one more", "result", 6, &err) == 0);
    trl_kept_close(kept, 0);
    must(trl_kept_open(path, 1, &kept, &err) == 0 && *trl_kept_count(kept) == count + 1);
    trl_kept_close(kept, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("kept", MFD_CLOEXEC); /* a file in memory, which has a path all the same */
    uint8_t *copy = malloc(size ? size : 1);
    must(fd >= 0 && copy);
    if (size > 0)
        memcpy(copy, data, size);
    read_all(fd, data, size);
    repair(copy, size);
    read_all(fd, copy, size);
    free(copy);
    close(fd);
    return 0;
}
