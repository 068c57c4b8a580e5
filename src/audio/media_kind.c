#include "audio/media_kind.h"

#include "audio/sound_header.h"
#include "base/bytes.h"
#include "base/fail.h"

#include <string.h>

#define EBML_SEGMENT 0x18538067u
#define EBML_CLUSTER 0x1F43B675u
#define PACKET 188 /* bytes of a transport stream */

typedef enum kind_number { MP4, MATROSKA, ASF, AVI, AMR, AAC, TRANSPORT, TRANSPORT_TIMED, OGG, CAF } kind_number;

static const trl__media_kind kinds[] = {
    [MP4] = {"MP4 (M4A, MOV)", "mov", 1},
    [MATROSKA] = {"Matroska or WebM", "matroska", 1},
    [ASF] = {"Windows Media", "asf", 0},
    [AVI] = {"AVI", "avi", 1},
    [AMR] = {"AMR", "amr", 0},
    [AAC] = {"AAC", "aac", 0},
    [TRANSPORT] = {"MPEG-TS", "mpegts", 0},
    [TRANSPORT_TIMED] = {"MPEG-TS", "mpegts", 0},
    [OGG] = {"Ogg", "ogg", 0},
    [CAF] = {"CAF", "caf", 0},
};

typedef struct magic {
    size_t at;
    const char *text;
    kind_number kind;
} magic;

static const magic magics[] = {
    {4, "ftyp", MP4},    {4, "moov", MP4}, {4, "mdat", MP4},  {4, "wide", MP4}, {0, "\x1a\x45\xdf\xa3", MATROSKA},
    {0, "0&\xb2u", ASF}, {8, "AVI ", AVI}, {0, "#!AMR", AMR},
};
static const magic refused[] = {{0, "OggS", OGG}, {0, "caff", CAF}};

static const trl__media_kind *find_magic(trl__sound_source *source, const magic *list, size_t count)
{
    uint8_t head[16];
    size_t n = trl__sound_source_get(source, 0, head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(list[i].text);
        if (list[i].at + size <= n && memcmp(head + list[i].at, list[i].text, size) == 0)
            return &kinds[list[i].kind];
    }
    return NULL;
}

/* Frames that follow each other: bytes of the frame of AAC at this place with its header, or 0. */
static size_t aac_frame(trl__sound_source *source, uint64_t at)
{
    uint8_t h[7];
    if (trl__sound_source_get(source, at, h, 7) < 7 || h[0] != 0xFF || (h[1] & 0xF6) != 0xF0)
        return 0;
    size_t length = (size_t)(h[3] & 3) << 11 | (size_t)h[4] << 3 | h[5] >> 5;
    return length >= 7 ? length : 0;
}

/* Packets of PACKET bytes begin with 0x47, or have a time of so many bytes before that. */
static int is_transport(trl__sound_source *source, uint64_t time_size)
{
    uint8_t sync;
    for (uint64_t i = 0; i < 4; i++)
        if (trl__sound_source_get(source, i * (PACKET + time_size) + time_size, &sync, 1) < 1 || sync != 0x47)
            return 0;
    return 1;
}

const trl__media_kind *trl__media_kind_of(trl__sound_source *source)
{
    const trl__media_kind *kind = find_magic(source, magics, sizeof magics / sizeof *magics);
    if (kind)
        return kind;
    size_t first = aac_frame(source, 0);
    if (first > 0 && (first >= source->size || aac_frame(source, first) > 0))
        return &kinds[AAC];
    return is_transport(source, 0) ? &kinds[TRANSPORT] : is_transport(source, 4) ? &kinds[TRANSPORT_TIMED] : NULL;
}

const trl__media_kind *trl__media_kind_refused(trl__sound_source *source)
{
    return find_magic(source, refused, sizeof refused / sizeof *refused);
}

/* ---- is it whole? ---- */

typedef struct part {
    uint64_t head, length; /* bytes of its header, and of all of it; UINT64_MAX: not known, its parts follow */
    int must_be_whole;     /* what stands behind the last part may be anything */
} part;

/* MP4: a length of 4 bytes and a name; a length of 1 stands for one of 8 bytes behind, 0 for the rest. */
static int get_box(trl__sound_source *source, uint64_t at, part *p)
{
    uint8_t h[16];
    size_t n = trl__sound_source_get(source, at, h, sizeof h);
    if (n < 8)
        return 0;
    uint64_t size = trl__be32(h);
    if (size == 1 && n == 16)
        size = (uint64_t)trl__be32(h + 8) << 32 | trl__be32(h + 12);
    if (size == 0)
        size = source->size - at;
    *p = (part){8, size, memcmp(h + 4, "mdat", 4) == 0 || memcmp(h + 4, "mo", 2) == 0}; /* moov, moof */
    return size >= 8;
}

/* A number of Matroska: as many more bytes as its first byte has zeros at the front. Returns its bytes, 0: it is
 * none. */
static size_t get_ebml(const uint8_t *bytes, size_t n, int keep_mark, uint64_t *value)
{
    size_t more = 0;
    while (more < 8 && n > 0 && !(bytes[0] & 0x80 >> more))
        more++;
    if (more == 8 || n <= more)
        return 0;
    *value = keep_mark ? bytes[0] : bytes[0] & (0x7Fu >> more);
    for (size_t i = 1; i <= more; i++)
        *value = *value << 8 | bytes[i];
    uint64_t ones = ((uint64_t)1 << 7 * (more + 1)) - 1;
    if (!keep_mark && *value == ones) /* written while it was recorded */
        *value = UINT64_MAX;
    return more + 1;
}

/* In a segment or a cluster whose length is not known the next part follows the header. */
static int get_element(trl__sound_source *source, uint64_t at, part *p)
{
    uint8_t h[12];
    uint64_t id, size;
    size_t n = trl__sound_source_get(source, at, h, sizeof h), id_size = get_ebml(h, n, 1, &id);
    size_t size_size = id_size > 0 ? get_ebml(h + id_size, n - id_size, 0, &size) : 0;
    if (id_size == 0 || id_size > 4 || size_size == 0)
        return 0;
    p->head = id_size + size_size;
    p->length = size == UINT64_MAX || size > INT64_MAX ? UINT64_MAX : p->head + size;
    p->must_be_whole = id == EBML_SEGMENT || id == EBML_CLUSTER;
    return p->must_be_whole || p->length != UINT64_MAX;
}

/* Windows Media: a name of 16 bytes and a length of 8. Live recordings have no length. */
static int get_object(trl__sound_source *source, uint64_t at, part *p)
{
    static const char *const names[] = {"0&\xb2u\x8e\x66\xcf\x11", "6&\xb2u\x8e\x66\xcf\x11"}; /* header, data */
    uint8_t h[24];
    if (trl__sound_source_get(source, at, h, sizeof h) < sizeof h)
        return 0;
    *p = (part){24, trl__le64(h + 16), memcmp(h, names[0], 8) == 0 || memcmp(h, names[1], 8) == 0};
    return p->length >= 24 && p->length <= INT64_MAX;
}

static int get_riff(trl__sound_source *source, uint64_t at, part *p)
{
    uint8_t h[8];
    if (trl__sound_source_get(source, at, h, sizeof h) < sizeof h)
        return 0;
    uint64_t length = trl__le32(h + 4);
    *p = (part){8, 8 + length + (length & 1), memcmp(h, "RIFF", 4) == 0};
    return !trl__is_streamed_length(length);
}

static int get_aac(trl__sound_source *source, uint64_t at, part *p)
{
    uint8_t sync;
    size_t length = aac_frame(source, at), left = (size_t)(source->size - at);
    if (length == 0 && left < 7 && trl__sound_source_get(source, at, &sync, 1) == 1 && sync == 0xFF)
        length = 7; /* half a header */
    *p = (part){7, length, 1};
    return length > 0;
}

static int get_packet(trl__sound_source *source, uint64_t at, part *p)
{
    uint8_t sync;
    *p = (part){PACKET, PACKET, 1};
    return trl__sound_source_get(source, at, &sync, 1) == 1 && sync == 0x47;
}

static int get_timed_packet(trl__sound_source *source, uint64_t at, part *p)
{
    int is_one = get_packet(source, at + 4, p);
    p->length += 4;
    return is_one;
}

int trl__media_check(trl__sound_source *source, const trl__media_kind *kind, trl_error *err)
{
    static int (*const get[])(trl__sound_source *, uint64_t, part *) = {
        [MP4] = get_box,
        [MATROSKA] = get_element,
        [ASF] = get_object,
        [AVI] = get_riff,
        [AMR] = NULL, /* its decoder says so */
        [AAC] = get_aac,
        [TRANSPORT] = get_packet,
        [TRANSPORT_TIMED] = get_timed_packet,
        [OGG] = NULL, /* sound_header.c has looked at these */
        [CAF] = NULL,
    };
    size_t number = (size_t)(kind - kinds);
    part p;
    for (uint64_t at = 0; get[number] && at < source->size && get[number](source, at, &p);) {
        uint64_t left = source->size - at, step = p.length == UINT64_MAX ? p.head : p.length;
        if (step > left && p.must_be_whole)
            return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->size,
                                  "the file ends here, but this %s promises %llu bytes from byte %llu on: it was cut; "
                                  "copy or record it again",
                                  kind->name, (unsigned long long)step, (unsigned long long)at);
        at += step < left ? step : left;
    }
    return 0;
}
