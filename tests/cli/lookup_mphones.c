/* Looks all M-phones of a store up at another place, and as many that nobody has, in batches; once for every line of standard input. Prints how many were found, missing and lost, and how many are not what
 * they should be: lookup_mphones STORE WHERE */
#include "bam/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 300

static struct keys {
    unsigned char *bytes;
    size_t size, count;
} all;

static void end(const trl_error *err)
{
    printf("error: %s\n", err->text);
    exit(1);
}

static int list_key(void *user, const unsigned char *key, const trl_bam_mixture *m, trl_error *err)
{
    (void)user, (void)m, (void)err;
    all.bytes = realloc(all.bytes, 2 * (all.count + 1) * all.size);
    memcpy(all.bytes + 2 * all.count * all.size, key, all.size);
    /* … and one whose state no model has. */
    memcpy(all.bytes + (2 * all.count + 1) * all.size, key, all.size);
    all.bytes[(2 * all.count + 1) * all.size + 2] ^= 0x40;
    all.count++;
    return 0;
}

static int is_same(const trl_bam_mixture *a, const trl_bam_mixture *b, size_t dim)
{
    size_t floats = (size_t)a->components * (1 + 2 * dim);
    return a->components == b->components && a->frames == b->frames && a->sampled == b->sampled &&
           memcmp(a->log_weight, b->log_weight, floats * sizeof(float)) == 0 &&
           b->mean == b->log_weight + b->components && b->variance == b->mean + (size_t)b->components * dim;
}

static void compare(trl_bam_store *store, trl__lookup *lookup)
{
    size_t counts[3] = {0}, wrong = 0, keys = 2 * all.count;
    trl_error err;
    for (size_t first = 0; first < keys; first += BATCH) {
        static trl__lookup_result results[BATCH];
        size_t count = keys - first < BATCH ? keys - first : BATCH;
        if (lookup->fetch(lookup, all.bytes + first * all.size, count, results, &err) < 0)
            end(&err);
        for (size_t i = 0; i < count; i++) {
            trl_bam_mixture here;
            int there = trl_bam_store_get(store, all.bytes + (first + i) * all.size, &here, &err);
            counts[results[i].status]++;
            if (results[i].status != TRL__LOOKUP_LOST)
                wrong += there != (results[i].status == TRL__LOOKUP_FOUND) ||
                         (there && !is_same(&here, &results[i].mixture, (size_t)lookup->facts.dim));
        }
    }
    printf("found %zu missing %zu lost %zu wrong %zu\n", counts[TRL__LOOKUP_FOUND], counts[TRL__LOOKUP_MISSING],
           counts[TRL__LOOKUP_LOST], wrong);
}

int main(int argc, char **argv)
{
    trl_bam_store *store;
    trl__lookup *lookup = NULL;
    trl_error err;
    char line[100];
    if (argc != 3)
        return 2;
    if (trl_bam_store_open(argv[1], &store, &err) < 0 || trl__lookup_open(argv[2], &lookup, &err) < 0)
        end(&err);
    trl_bam_store_facts here = trl_bam_store_describe(store);
    all.size = trl_bam_key_size(here.order);
    if (here.model != lookup->facts.model || here.mphones != lookup->facts.mphones || here.order != lookup->facts.order)
        return 3;
    if (trl_bam_store_each(store, list_key, NULL, &err) < 0)
        end(&err);
    while (fgets(line, sizeof line, stdin)) {
        compare(store, lookup);
        fflush(stdout);
    }
    lookup->destroy(lookup);
    trl_bam_store_close(store);
    free(all.bytes);
    return 0;
}
