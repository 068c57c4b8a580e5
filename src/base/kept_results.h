/* The inside of trellis/kept.h: a file of blocks, each with a checksum, to which results are added as they come.
 *
 *     byte 0   magic "trlkept\0", u32 version (1), u32 0x01020304 in the writer's byte order
 *         16   blocks: u32 kind (1 job, 2 result), u32 length of the name, u64 length of the content, u64 XXH3 of all of the block but this,
 *              the name (of the utterance), the content
 *
 * A job is the hash of all that its results depend on; they follow it. Several corpora of one run are several jobs,
 * one behind the other. What a kill has left at the end, shorter than it says or damaged, is cut off when the file is
 * opened.
 *
 *     trl__kept_begin(kept, job, err);                       // before the corpus
 *     bytes = trl__kept_find(kept, id, &size);               // any thread, until the next begin
 *     trl__kept_add(kept, id, bytes, size, err);             // one at a time
 */
#ifndef TRL_BASE_KEPT_RESULTS_H
#define TRL_BASE_KEPT_RESULTS_H

#include <stdint.h>
#include <trellis/kept.h>

/* TRL_EINVAL: what is kept belongs to another job. */
int trl__kept_begin(trl_kept *kept, uint64_t job, trl_error *err);

/* NULL: it is not kept. */
const unsigned char *trl__kept_find(const trl_kept *kept, const char *id, size_t *size);
int trl__kept_add(trl_kept *kept, const char *id, const void *bytes, size_t size, trl_error *err);

/* A result taken apart: the next `size` bytes, or NULL where there are not so many. */
typedef struct trl__kept_cursor {
    const unsigned char *at;
    size_t left;
} trl__kept_cursor;

int trl__kept_take(trl__kept_cursor *cursor, void *to, size_t size); /* 0, or -1: there are not so many bytes */

/* A result put together. */
typedef struct trl__kept_bytes {
    unsigned char *bytes;
    size_t size, capacity;
} trl__kept_bytes;

int trl__kept_put(trl__kept_bytes *to, const void *bytes, size_t size); /* 0, or -1: out of memory */

#endif
