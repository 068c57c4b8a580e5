/* Streams of records, byte by byte in docs/formats.md: what goes from mapper to reducer, and on to a store. Header
 * and records carry checksums, which every reader compares; a mark at the end says how many records there were.
 *
 *     trl__bam_reader_open("-", &reader, err);                              // reader.header says what the records are about
 *     while ((code = trl__bam_read(&reader, &record, err)) > 0) …
 *     trl__bam_reader_close(&reader);
 *
 * A record's body is its key, its kind, and what belongs to that kind. Bodies are compared as bytes: that is their order.
 */
#ifndef TRL_BAM_BAM_STREAM_H
#define TRL_BAM_BAM_STREAM_H

#include "bam/bam_phones.h"
#include "base/byte_source.h"

#include <string.h>

#include <trellis/bam.h>
#include <trellis/file.h>

#define TRL__BAM_STREAM_VERSION 2

typedef struct trl__bam_header {
    int order, dim;
    uint64_t seed;
    uint64_t model; /* trl__bam_model_hash of the first-pass model */
    trl_bam_phones *phones;
} trl__bam_header;

typedef enum trl__bam_kind {
    TRL__BAM_NOTHING, /* a back-off */
    TRL__BAM_RUN,     /* frames one after the other of an utterance */
    TRL__BAM_SAMPLE,  /* frames with their hashes */
    TRL__BAM_MIXTURE, /* Gaussians */
    TRL__BAM_COUNTS   /* of M-phones by context sizes; its key is all 0xff */
} trl__bam_kind;

typedef struct trl__bam_record {
    const unsigned char *body; /* all of it, from the key on */
    size_t size;
    trl__bam_kind kind;
    const unsigned char *value; /* behind the kind */
    size_t frames;              /* of a run or sample; components of a mixture */
    uint64_t utterance;         /* of a run: hash of seed and id … */
    uint32_t first;             /* … and its first frame */
    const unsigned char *data;  /* of a run or mixture: its floats; of a sample: a hash and floats, frame after frame */
    uint32_t sampled;           /* of a sample or mixture: 1 where there were more frames than could be used … */
    uint64_t used;              /* … and of a mixture, how many were */
} trl__bam_record;

#define TRL__BAM_RUN_HEAD 12     /* bytes: utterance, first frame */
#define TRL__BAM_MIXTURE_HEAD 16 /* bytes: components, sampled, frames */
#define TRL__BAM_COUNTS_HEAD 48  /* bytes: the options of estimation */
#define TRL__BAM_BODY_MOST ((uint32_t)1 << 30)

/* Which model, whatever its file is called. */
uint64_t trl__bam_model_hash(const trl_model *model);
/* 0, or TRL_EINVAL: what lies at `where` was made with another model than this one. */
int trl__bam_model_fits(uint64_t hash, const trl_model *model, const char *where, trl_error *err);
uint64_t trl__bam_utterance_hash(uint64_t seed, const char *id);
uint64_t trl__bam_frame_hash(uint64_t utterance, uint32_t frame);

/* Who gets records. */
typedef int (*trl__bam_emit)(void *user, const unsigned char *body, size_t size, trl_error *err);

/* Takes a body apart; what it claims is compared with its size. TRL_ECORRUPT says what is wrong. */
int trl__bam_parse(const trl__bam_header *header, const unsigned char *body, size_t size, trl__bam_record *record,
                   trl_error *err);

/* The order of records. */
static inline int trl__bam_compare(const unsigned char *a, size_t a_size, const unsigned char *b, size_t b_size)
{
    int difference = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return difference ? difference : (a_size > b_size) - (a_size < b_size);
}

typedef struct trl__bam_reader {
    trl__source source;
    trl__bam_header header;   /* its phones are the reader's */
    uint64_t records, before; /* read; those of streams before this one */
} trl__bam_reader;

/* Do streams of these belong together? */
int trl__bam_same_header(const trl__bam_header *a, const trl__bam_header *b);

int trl__bam_reader_open(const char *path, trl__bam_reader *out, trl_error *err);
int trl__bam_reader_memory(const char *name, const void *bytes, size_t size, trl__bam_reader *out, trl_error *err);
/* The next record, good until the next call: 1, 0 at the end, or an error: TRL_ECORRUPT where the stream is cut or damaged. Streams that belong together may stand
 * one behind the other, as `cat` puts them. */
int trl__bam_read(trl__bam_reader *reader, trl__bam_record *record, trl_error *err);
void trl__bam_reader_close(trl__bam_reader *reader);

typedef struct trl__bam_writer {
    trl_file *file;
    uint64_t records;
} trl__bam_writer;

int trl__bam_writer_open(const char *path, const trl__bam_header *header, trl__bam_writer *out, trl_error *err);
int trl__bam_write(trl__bam_writer *writer, const unsigned char *body, size_t size, trl_error *err);
int trl__bam_writer_commit(trl__bam_writer *writer, trl_error *err);
void trl__bam_writer_abort(trl__bam_writer *writer);

#endif
