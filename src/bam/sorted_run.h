/* Sorted records on disk, packed by zstd in blocks of about 64 KB, with an index of how the blocks begin: so a range of records can be read
 * without what lies before it.
 *
 *     trl__run_writer_open(put, user, mark_size, tags, &writer, err);  trl__run_write(writer, body, size, err);
 *     trl__run_writer_close(writer, err);
 *     trl__run_open(fd, name, mark_size, &run, err);                  // the index, checked
 *     trl__run_cursor_open(run, first, end, &cursor, err);           // records in [first, end); NULL: no limit
 *     while (trl__run_next(cursor, &record, err) > 0) …
 *
 * The file (a working file of this machine, not a format to keep): "trl-run" and 3; the tags; blocks; the index; its
 * place and size, the checksum of head and index. Blocks have zstd's checksums.
 */
#ifndef TRL_BAM_SORTED_RUN_H
#define TRL_BAM_SORTED_RUN_H

#include "bam/bam_stream.h"

/* A mark is how a record begins: its key, and as far as it is wanted kind, utterance and first frame, which tell records of one key apart. In a shorter record zeros count
 * as if they followed. */
#define TRL__RUN_MARK_MOST (TRL_BAM_KEY_MOST + 4 + TRL__BAM_RUN_HEAD)
static inline size_t trl__run_mark_size(int order)
{
    return trl_bam_key_size(order) + 4 + TRL__BAM_RUN_HEAD;
}

#define TRL__RUN_TAGS 6 /* numbers of the caller's that the file carries */

typedef int (*trl__run_put)(void *user, const void *bytes, size_t size, trl_error *err);
typedef struct trl__run_writer trl__run_writer;

int trl__run_writer_open(trl__run_put put, void *user, size_t mark_size, const uint64_t tags[TRL__RUN_TAGS],
                         trl__run_writer **out, trl_error *err);
int trl__run_write(trl__run_writer *writer, const unsigned char *body, size_t size, trl_error *err);
/* Writes what is left and frees the writer, whatever it returns; `put` is not called after that. abort only frees. */
int trl__run_writer_close(trl__run_writer *writer, trl_error *err);
void trl__run_writer_abort(trl__run_writer *writer);

typedef struct trl__run_block {
    unsigned char mark[TRL__RUN_MARK_MOST]; /* of its first record */
    uint64_t offset;
    uint32_t packed, size; /* bytes */
} trl__run_block;

typedef struct trl__sorted_run {
    int fd;
    char *name;
    size_t mark_size;
    uint64_t tags[TRL__RUN_TAGS];
    trl__run_block *blocks;
    size_t count;
} trl__sorted_run;

/* Takes over the descriptor, whatever happens. TRL_ECORRUPT: it is no whole run. */
int trl__run_open(int fd, const char *name, size_t mark_size, trl__sorted_run **out, trl_error *err);
void trl__run_close(trl__sorted_run *run);

typedef struct trl__run_cursor trl__run_cursor;

/* The marks are not copied. The header says what records are. */
int trl__run_cursor_open(const trl__sorted_run *run, const trl__bam_header *header, const unsigned char *first,
                         const unsigned char *end, trl__run_cursor **out, trl_error *err);
int trl__run_next(void *cursor, trl__bam_record *record, trl_error *err); /* 1, 0 at the end, or an error */
void trl__run_cursor_close(trl__run_cursor *cursor);

#endif
