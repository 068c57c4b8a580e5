/* Is the sound as long as its header says? libsndfile shortens a cut file without a word, so the length fields are
 * compared with the real size here: WAV, RF64, AIFF, CAF and Wave64 are all lists of chunks (a name, a length, that
 * many bytes) in four spellings; AU and SPHERE have one fixed header; the last page of an Ogg file carries a mark.
 * MP3 is a chain of frames (mpeg_frames.c). FLAC that has its length shows a cut only when it is decoded;
 * trl_audio_read notices it there.
 *
 * Programs that write to a pipe can't go back to fill in the length. They leave 0 or a number just below 2^31 or 2^32:
 * then the sound goes on to the end of the file.
 */
#include "audio/sound_header.h"

#include "audio/flac_end.h"
#include "audio/media_kind.h"
#include "audio/mpeg_frames.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS_MOST 10000   /* a file of more chunks is left to libsndfile */
#define OGG_PAGE_MOST 65307 /* bytes: header, 255 segment lengths, 255 segments of 255 bytes */
#define SPHERE_HEADER_MOST 4096

typedef struct chunk_style {
    const char *magic, *kind; /* at bytes 0 and kind_at */
    size_t kind_at;
    size_t first;              /* where the first chunk begins */
    size_t id_size, size_size; /* bytes of a chunk's name and length */
    int big_endian;
    int size_counts_header;
    size_t align;
    const char *sound; /* name of the chunk with the samples; its first four bytes */
} chunk_style;

static const chunk_style chunk_styles[] = {
    {"RIFF", "WAVE", 8, 12, 4, 4, 0, 0, 2, "data"},   {"RIFX", "WAVE", 8, 12, 4, 4, 1, 0, 2, "data"},
    {"RF64", "WAVE", 8, 12, 4, 4, 0, 0, 2, "data"},   {"FORM", "AIFF", 8, 12, 4, 4, 1, 0, 2, "SSND"},
    {"FORM", "AIFC", 8, 12, 4, 4, 1, 0, 2, "SSND"},   {"caff", "", 4, 8, 4, 8, 1, 0, 1, "data"},
    {"riff", "wave", 24, 40, 16, 8, 0, 1, 8, "data"},
};
#define CHUNK_STYLES (sizeof chunk_styles / sizeof *chunk_styles)

static uint64_t number(const uint8_t *bytes, size_t n, int big_endian)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[big_endian ? i : n - 1 - i];
    return value;
}

static int starts(const uint8_t *bytes, size_t size, size_t at, const char *text)
{
    size_t n = strlen(text);
    return size >= at + n && memcmp(bytes + at, text, n) == 0;
}

/* A 4-byte length that a writer to a pipe leaves: 0, or just below 2^31 (SoX, arecord) or 2^32 (FFmpeg). */
int trl__is_streamed_length(uint64_t length)
{
    return length == 0 || (length >= 0x7F000000 && length <= 0x80000000) || length >= 0xFFFF0000;
}

static int fail_short(const trl__sound_source *source, uint64_t start, uint64_t length, trl_error *err)
{
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->size,
                          "the file ends here, but its header promises %llu bytes of sound from byte %llu on: it was "
                          "cut; copy or record it again",
                          (unsigned long long)length, (unsigned long long)start);
}

static int fail_damaged(const trl__sound_source *source, uint64_t at, const char *what, trl_error *err)
{
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, at, "the %s header is damaged or cut off", what);
}

/* The lengths in RF64's ds64 chunk replace the 4-byte ones, which are all ones. */
static uint64_t rf64_length(trl__sound_source *source, uint64_t short_length)
{
    uint8_t ds64[32];
    if (short_length != 0xFFFFFFFF || trl__sound_source_get(source, 12, ds64, sizeof ds64) < sizeof ds64 ||
        memcmp(ds64, "ds64", 4) != 0)
        return short_length;
    return number(ds64 + 16, 8, 0);
}

/* A WAV whose sound has length 0 while bytes follow, and whose outer length is not the file's either: it was never
 * closed. libsndfile would find no samples, so it is shown the real length. */
static void open_ended(trl__sound_source *source, const chunk_style *style, uint64_t size_at, uint64_t start)
{
    uint8_t outer[4];
    if (style->size_size != 4 || trl__sound_source_get(source, 4, outer, 4) < 4 ||
        number(outer, 4, style->big_endian) + 8 == source->size)
        return;
    uint64_t length = source->size - start < 0xFFFFFFFF ? source->size - start : 0xFFFFFFFF;
    source->patch_at = size_at;
    source->patch_size = 4;
    for (int i = 0; i < 4; i++)
        source->patch[i] = (uint8_t)(length >> 8 * (style->big_endian ? 3 - i : i));
}

static int check_sound_chunk(trl__sound_source *source, const chunk_style *style, uint64_t at, uint64_t length,
                             trl_error *err)
{
    uint64_t start = at + style->id_size + style->size_size;
    if (length == 0 && start < source->size)
        open_ended(source, style, at + style->id_size, start);
    if (strcmp(style->magic, "RF64") == 0)
        length = rf64_length(source, length);
    int unknown = style->size_size == 4 ? length <= 0xFFFFFFFF && trl__is_streamed_length(length) : length > INT64_MAX;
    if (unknown || length <= source->size - start)
        return 0;
    return fail_short(source, start, length, err);
}

/* Chunk by chunk to the sound. Where the way is lost (some writers forget to pad a chunk to an even length) libsndfile
 * may still find it, so that is an error only when `strict`. */
static int check_chunks(trl__sound_source *source, const chunk_style *style, int strict, trl_error *err)
{
    uint8_t header[24];
    size_t header_size = style->id_size + style->size_size;
    uint64_t at = style->first;
    for (int i = 0; i < CHUNKS_MOST; i++) {
        if (trl__sound_source_get(source, at, header, header_size) < header_size)
            break;
        uint64_t length = number(header + style->id_size, style->size_size, style->big_endian);
        if (style->size_counts_header)
            length = length < header_size ? 0 : length - header_size;
        if (memcmp(header, style->sound, 4) == 0)
            return check_sound_chunk(source, style, at, length, err);
        if (length > source->size - at)
            break;
        at += header_size + (length + style->align - 1) / style->align * style->align;
    }
    if (!strict)
        return 0;
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, at < source->size ? at : source->size,
                          "no sound in this file: its list of chunks ends before '%s'; it was cut or is damaged",
                          style->sound);
}

/* MP3 and MP2 in a WAV are seen without it. */
static void unwrap_mpeg(trl__sound_source *source)
{
    uint8_t chunk[10];
    int is_mpeg = 0;
    for (uint64_t at = 12; trl__sound_source_get(source, at, chunk, sizeof chunk) == sizeof chunk;) {
        uint64_t length = number(chunk + 4, 4, 0), tag = number(chunk + 8, 2, 0), left = source->size - at - 8;
        if (memcmp(chunk, "fmt ", 4) == 0)
            is_mpeg = tag == 0x55 || tag == 0x50;
        if (memcmp(chunk, "data", 4) == 0) {
            source->skipped = is_mpeg ? at + 8 : 0;
            source->size = is_mpeg ? (length < left ? length : left) : source->size;
            return;
        }
        at += 8 + length + (length & 1);
    }
}

/* The style of the file's chunks, or NULL. */
static const chunk_style *style_of(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < CHUNK_STYLES; i++)
        if (starts(head, n, 0, chunk_styles[i].magic) && starts(head, n, chunk_styles[i].kind_at, chunk_styles[i].kind))
            return &chunk_styles[i];
    return NULL;
}

static int check_au(trl__sound_source *source, const uint8_t *head, size_t size, trl_error *err)
{
    if (size < 24)
        return fail_damaged(source, size, "AU", err);
    int big_endian = head[0] == '.';
    uint64_t start = number(head + 4, 4, big_endian), length = number(head + 8, 4, big_endian);
    if (start > source->size)
        return fail_damaged(source, 4, "AU", err);
    return trl__is_streamed_length(length) || length <= source->size - start ? 0
                                                                             : fail_short(source, start, length, err);
}

/* The number after "NAME -i ", or `otherwise`. */
static uint64_t sphere_number(const char *header, const char *name, uint64_t otherwise)
{
    const char *found = strstr(header, name);
    if (!found || strncmp(found + strlen(name), " -i ", 4) != 0)
        return otherwise;
    long long value = strtoll(found + strlen(name) + 4, NULL, 10);
    return value >= 0 && value < (long long)1 << 40 ? (uint64_t)value : otherwise;
}

static int check_sphere(trl__sound_source *source, trl_error *err)
{
    char header[SPHERE_HEADER_MOST + 1];
    size_t n = trl__sound_source_get(source, 0, header, SPHERE_HEADER_MOST);
    header[n] = '\0';
    char *end = strstr(header, "end_head");
    if (!end)
        return fail_damaged(source, n, "SPHERE", err);
    *end = '\0';
    if (strstr(header, "shorten") || strstr(header, "wavpack") || strstr(header, "shortpack"))
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: SPHERE sound packed by shorten or a similar program can't be read; unpack it first: "
                         "sph2pipe -f wav IN.sph OUT.wav",
                         source->name);
    uint64_t start = strtoull(header + 8, NULL, 10), samples = sphere_number(header, "sample_count", 0);
    uint64_t width = sphere_number(header, "sample_n_bytes", 0), channels = sphere_number(header, "channel_count", 1);
    if (start > source->size || width > 8 || channels > 1024)
        return fail_damaged(source, 0, "SPHERE", err);
    uint64_t length = samples * width * channels; /* below 2^40 · 2^3 · 2^10 */
    return length <= source->size - start ? 0 : fail_short(source, start, length, err);
}

/* Does a page's checksum hold? (CRC-32, polynomial 0x04c11db7, bits not reflected, its own four bytes taken as 0.) */
static int is_sound_ogg_page(trl__sound_source *source, uint64_t at, size_t length)
{
    uint8_t block[512];
    uint32_t crc = 0, expected = 0;
    for (size_t done = 0, n; done < length; done += n) {
        n = length - done < sizeof block ? length - done : sizeof block;
        if (trl__sound_source_get(source, at + done, block, n) < n)
            return 0;
        if (done == 0) {
            expected = (uint32_t)number(block + 22, 4, 0);
            memset(block + 22, 0, 4);
        }
        for (size_t i = 0; i < n; i++) {
            crc ^= (uint32_t)block[i] << 24;
            for (int bit = 0; bit < 8; bit++)
                crc = crc << 1 ^ (crc & 0x80000000 ? 0x04c11db7 : 0);
        }
    }
    return crc == expected;
}

typedef struct ogg_page {
    size_t length;
    int last;        /* of its stream */
    int64_t granule; /* what the stream has reached at its end; 0 or -1 in pages without sound */
} ogg_page;

/* The whole and undamaged page at this place; 0 when there is none. */
static int get_ogg_page(trl__sound_source *source, uint64_t at, ogg_page *page)
{
    uint8_t header[27 + 255];
    size_t n = trl__sound_source_get(source, at, header, sizeof header);
    if (n < 27 || !starts(header, n, 0, "OggS"))
        return 0;
    size_t segments = header[26];
    *page = (ogg_page){27 + segments, header[5] & 4, (int64_t)number(header + 6, 8, 0)};
    for (size_t i = 0; i < segments && 27 + i < n; i++)
        page->length += header[27 + i];
    return page->length <= source->size - at && is_sound_ogg_page(source, at, page->length);
}

static int has_last_ogg_page(trl__sound_source *source)
{
    uint8_t block[4096 + 3];
    ogg_page page;
    uint64_t lowest = source->size > OGG_PAGE_MOST ? source->size - OGG_PAGE_MOST : 0;
    for (uint64_t end = source->size; end > lowest; end -= end - lowest < 4096 ? end - lowest : 4096) {
        uint64_t start = end - lowest < 4096 ? lowest : end - 4096;
        size_t n = trl__sound_source_get(source, start, block, (size_t)(end - start) + 3);
        for (size_t i = n; i-- > 0;)
            if (starts(block, n, i, "OggS") && get_ogg_page(source, start + i, &page) && page.last)
                return 1;
    }
    return 0;
}

/* libsndfile takes the length of an Ogg stream from its first page with sound and its last page, and passes over
 * damaged pages: these two must be good. Damage between them shows in decoding, as samples that are missing. */
static int check_ogg(trl__sound_source *source, trl_error *err)
{
    ogg_page page = {0};
    for (uint64_t at = 0; page.granule <= 0 && !page.last; at += page.length)
        if (!get_ogg_page(source, at, &page))
            return trl__fail_byte(err, TRL_ECORRUPT, source->name, at,
                                  "a damaged or incomplete Ogg page; copy the "
                                  "file again, or keep what is left with: ffmpeg -i IN -c copy OUT");
    if (has_last_ogg_page(source))
        return 0;
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->size,
                          "no undamaged last page of an Ogg stream before the end of the file: it was cut or damaged; "
                          "copy it again, or keep what is left with: ffmpeg -i IN -c copy OUT");
}

int trl__sound_header_check(trl__sound_source *source, trl_error *err)
{
    uint8_t head[40];
    size_t n = trl__sound_source_get(source, 0, head, sizeof head);
    if (source->size == 0)
        return trl__fail(err, TRL_EFORMAT, "%s: not a sound file: it is empty (0 bytes)", source->name);
    if (source->io_error)
        return trl__sound_source_fail(source, err);
    const chunk_style *style = style_of(head, n);
    int code = style ? check_chunks(source, style, 0, err) : 0;
    if (style && code == 0 && starts(head, n, 0, "RIFF"))
        unwrap_mpeg(source);
    if (style)
        return code < 0 || source->skipped == 0 ? code : trl__mpeg_check(source, err);
    if (starts(head, n, 0, "fLaC"))
        return trl__flac_check_end(source, err);
    if (starts(head, n, 0, ".snd") || starts(head, n, 0, "dns."))
        return check_au(source, head, n, err);
    if (starts(head, n, 0, "NIST_1A"))
        return check_sphere(source, err);
    if (starts(head, n, 0, "OggS"))
        return check_ogg(source, err);
    if (trl__media_kind_of(source)) /* whether it is whole is seen when it is opened */
        return 0;
    if ((n >= 2 && head[0] == 0xFF && head[1] >= 0xE0) || starts(head, n, 0, "ID3"))
        return trl__mpeg_check(source, err);
    return 0;
}

/* What files that are not sound begin with. */
static const struct {
    const char *magic, *what;
} strangers[] = {
    {"\x1f\x8b", "a gzip file; unpack it first (gunzip)"},
    {"PK\x03\x04", "a zip archive; unpack it first (unzip)"},
    {"7z\xbc\xaf", "a 7z archive; unpack it first"},
    {"BZh", "a bzip2 file; unpack it first (bunzip2)"},
    {"\xfd"
     "7zXZ",
     "an xz file; unpack it first (unxz)"},
    {"ajkg", "a shorten file; unpack it first (shorten -x, or ffmpeg)"},
    {"%PDF", "a PDF document"},
    {"\x89PNG", "a PNG picture"},
    {"\xff\xd8\xff", "a JPEG picture"},
    {"\x7f"
     "ELF",
     "a program"},
    {"version https://git-lfs", "a Git LFS pointer; fetch the file itself: git lfs pull"},
    {"<!DOCTYPE", "an HTML page (a failed download?)"},
    {"<!doctype", "an HTML page (a failed download?)"},
    {"<html", "an HTML page (a failed download?)"},
    {"<HTML", "an HTML page (a failed download?)"},
    {"<?xml", "an XML document"},
};

static const struct {
    const char *magic, *what;
} sounds[] = {
    {"RIFF", "RIFF (WAV)"}, {"RIFX", "RIFX (WAV)"}, {"RF64", "RF64"}, {"FORM", "AIFF"},      {"fLaC", "FLAC"},
    {"OggS", "Ogg"},        {".snd", "AU"},         {"caff", "CAF"},  {"NIST_1A", "SPHERE"}, {"ID3", "MP3"},
};

static int is_text(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((bytes[i] < ' ' && !strchr("\t\n\v\f\r\b\x1b", bytes[i])) || bytes[i] == 0x7f || bytes[i] == 0)
            return 0;
    return 1;
}

int trl__sound_header_explain(trl__sound_source *source, trl_error *err)
{
    uint8_t head[256];
    size_t n = trl__sound_source_get(source, 0, head, sizeof head);
    if (source->io_error)
        return trl__sound_source_fail(source, err);
    const chunk_style *style = style_of(head, n);
    if (style && check_chunks(source, style, 1, err) < 0)
        return TRL_ECORRUPT;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (starts(head, n, 0, strangers[i].magic))
            return trl__fail(err, TRL_EFORMAT, "%s: not a sound file: it is %s", source->name, strangers[i].what);
    for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++)
        if (starts(head, n, 0, sounds[i].magic))
            return trl__fail_byte(err, n < 44 ? TRL_ECORRUPT : TRL_EUNSUPPORTED, source->name, 0,
                                  "%s with a damaged header or a kind of coding that can't be read; convert it: "
                                  "ffmpeg -i IN OUT.wav",
                                  sounds[i].what);
    if (starts(head, n, 0, "\xff\xfe") && n > 3 && head[3] == 0)
        return trl__fail(err, TRL_EFORMAT, "%s: not a sound file: it is text in UTF-16", source->name);
    if (is_text(head, n))
        return trl__fail(err, TRL_EFORMAT, "%s: not a sound file: it is text", source->name);
    return trl__fail(err, TRL_EFORMAT,
                     "%s: not a sound file with a header (it begins with bytes %02x %02x %02x %02x); raw samples need "
                     "one: sox -t raw -r RATE -e signed -b 16 -c 1 IN -t wav OUT",
                     source->name, head[0], n > 1 ? head[1] : 0, n > 2 ? head[2] : 0, n > 3 ? head[3] : 0);
}
