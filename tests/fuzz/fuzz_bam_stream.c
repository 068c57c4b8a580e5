/* Streams of M-phones, once as the bytes are, and once with the checksums put right: read, printed keys parse back,
 * and what reads well is reduced. */
#include "bam/reducer.h"
#include "../stream_repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    (void)user, (void)body, (void)size, (void)err;
    return 0;
}

static void check_key(const trl__bam_header *h, const unsigned char *key)
{
    char text[4096];
    unsigned char back[TRL_BAM_KEY_MOST];
    trl_error err;
    if (trl_bam_key_format(h->phones, h->order, key, text, sizeof text) >= sizeof text)
        return; /* names of phones may be long */
    if (key[2] == 0xff && key[3] == 0xff)
        return; /* a state that text has no number for */
    if (trl_bam_key_parse(h->phones, h->order, text, back, &err) < 0 ||
        memcmp(key, back, trl_bam_key_size(h->order)) != 0)
        abort();
}

static void read_all(const uint8_t *data, size_t size)
{
    trl__bam_reader reader;
    trl__bam_record record;
    trl__reducer *reducer;
    trl_error err;
    trl_bam_options o = trl_bam_defaults();
    o.least_frames = 2;
    o.most_frames = 20;
    if (trl__bam_reader_memory("fuzz", data, size, &reader, &err) < 0)
        return;
    int code = reader.header.dim <= 64 ? trl__reducer_create(&reader.header, &o, NULL, NULL, drop, NULL, &reducer, &err)
                                       : TRL_ELIMIT;
    if (code == 0) {
        while (code == 0 && (code = trl__bam_read(&reader, &record, &err)) > 0) {
            if (record.kind != TRL__BAM_COUNTS)
                check_key(&reader.header, record.body);
            code = trl__reducer_add(reducer, &record, &err);
        }
        if (code == 0)
            trl__reducer_finish(reducer, NULL, &err);
        trl__reducer_destroy(reducer);
    }
    trl__bam_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    uint8_t *copy = size > 0 ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    stream_repair(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
