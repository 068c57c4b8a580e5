#include "audio/mpeg_frames.h"

#include "audio/sound_header.h"
#include "base/fail.h"

#include <string.h>

#define COUNT_SIZE 48     /* bytes: "Xing", flags and the count, and what LAME puts behind them */
#define ENCODER_DELAY 576 /* samples */

/* The length of the MPEG audio frame that this header begins, in bytes; 0: it is none. */
static size_t frame_length(const uint8_t h[4])
{
    static const uint16_t bitrates[5][14] = {
        /* kbit/s: MPEG-1 layers I, II, III; MPEG-2 layer I; MPEG-2 layers II and III */
        {32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
        {32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
        {32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
        {32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
        {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}};
    static const unsigned rates[3] = {44100, 48000, 32000};
    unsigned version = h[1] >> 3 & 3, layer = 4 - (h[1] >> 1 & 3), bitrate = h[2] >> 4, rate = h[2] >> 2 & 3;
    if (h[0] != 0xFF || h[1] < 0xE0 || version == 1 || layer == 4 || bitrate == 0 || bitrate == 15 || rate == 3)
        return 0;
    unsigned row = version == 3 ? layer - 1 : layer == 1 ? 3 : 4, padding = h[2] >> 1 & 1;
    unsigned bits = 1000u * bitrates[row][bitrate - 1], hertz = rates[rate] >> (version == 3   ? 0
                                                                                : version == 2 ? 1
                                                                                               : 2);
    if (layer == 1)
        return (12 * bits / hertz + padding) * 4;
    return (layer == 3 && version != 3 ? 72 : 144) * bits / hertz + padding;
}

/* The length of the frame at this place, of the same version, layer and rate as `like`; 0: there is none. */
static size_t get_frame(trl__sound_source *source, uint64_t at, const uint8_t like[4])
{
    uint8_t h[4];
    if (trl__sound_source_get(source, at, h, 4) < 4 || h[1] >> 1 != like[1] >> 1 || (h[2] & 0x0C) != (like[2] & 0x0C))
        return 0;
    return frame_length(h);
}

/* The length of a tag (ID3, APE) at this place; 0: there is none. */
static uint64_t get_tag(trl__sound_source *source, uint64_t at)
{
    uint8_t t[32];
    size_t n = trl__sound_source_get(source, at, t, sizeof t);
    if (n >= 10 && memcmp(t, "ID3", 3) == 0) /* 28 bits of length, and perhaps a footer */
        return 10 +
               ((uint64_t)(t[6] & 127) << 21 | (uint64_t)(t[7] & 127) << 14 | (uint64_t)(t[8] & 127) << 7 |
                (t[9] & 127)) +
               (t[5] & 0x10 ? 10 : 0);
    if (n == sizeof t && memcmp(t, "APETAGEX", 8) == 0) /* a header before as many bytes as it says, or a footer */
        return 32 + (t[23] & 0x20 ? t[12] | (uint64_t)t[13] << 8 | (uint64_t)t[14] << 16 | (uint64_t)t[15] << 24 : 0);
    if (n >= 4 && memcmp(t, "TAG", 3) == 0)
        return t[3] == '+' ? 227 : 128;
    return 0;
}

/* Where in a frame of layer III the sound begins: behind the header and the side information. */
static size_t sound_at(const uint8_t head[4])
{
    int is_mono = head[3] >> 6 == 3, is_first_version = (head[1] >> 3 & 3) == 3;
    return 4 + (is_first_version ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17));
}

/* Does the first frame, instead of sound, have a count of those that follow (Xing, LAME)? */
static int has_count(trl__sound_source *source, uint64_t at, const uint8_t head[4])
{
    uint8_t tag[8];
    for (uint64_t checksum = 0; checksum <= 2; checksum += 2)
        if (trl__sound_source_get(source, at + checksum + sound_at(head), tag, 8) == 8 &&
            (memcmp(tag, "Xing", 4) == 0 || memcmp(tag, "Info", 4) == 0))
            return tag[7] & 1;
    return 0;
}

/* Two frames that follow each other, or the last one, somewhere from this place on? */
static int goes_on(trl__sound_source *source, uint64_t at, const uint8_t like[4])
{
    for (; at + 4 <= source->size; at++) {
        size_t length = get_frame(source, at, like);
        if (length > 0 && (at + length == source->size || get_frame(source, at + length, like) > 0))
            return 1;
    }
    return 0;
}

/* libsndfile reads no further than the length that it guesses, which in a file of variable bit rate is anything: it
 * is shown a first frame that counts the others, instead of the tags at the beginning. How much later than what was
 * recorded the sound is, only encoders know: that frame says what LAME's is, by far the most used. The delay of
 * decoders, 529 samples, comes on top, and both are skipped. */
static void show_count(trl__sound_source *source, uint64_t at, const uint8_t head[4], uint32_t count)
{
    uint8_t *h = source->front;
    size_t tag = sound_at(head), length = 0;
    memset(h, 0, sizeof source->front);
    memcpy(h, head, 4);
    h[1] |= 1; /* no checksum */
    for (unsigned bitrate = 1; bitrate < 15 && length < tag + COUNT_SIZE; bitrate++) {
        h[2] = (uint8_t)(bitrate << 4 | (head[2] & 0x0C));
        length = frame_length(h);
    }
    memcpy(h + tag, "Xing\0\0\0\1", 8);
    for (unsigned i = 0; i < 4; i++)
        h[tag + 8 + i] = (uint8_t)(count >> (24 - 8 * i));
    memcpy(h + tag + 12, "trellis", 7); /* the encoder's name: delays are read where there is one */
    h[tag + 33] = ENCODER_DELAY >> 4;   /* 12 bits */
    h[tag + 34] = (ENCODER_DELAY & 15) << 4;
    source->front_size = length;
    source->skipped += at;
    source->size = source->size - at + length;
}

static int fail_cut(const trl__sound_source *source, uint64_t at, trl_error *err)
{
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, trl__sound_source_place(source, at),
                          "the file ends in the middle of this last frame: it was cut; copy it again, or keep what is "
                          "left with: ffmpeg -i IN -c copy OUT");
}

/* Counts the frames. Whatever stands behind the last one is none of our business. */
static int follow_chain(trl__sound_source *source, uint64_t at, const uint8_t head[4], uint32_t *count, trl_error *err)
{
    for (*count = 0; at < source->size;) {
        uint64_t length = get_frame(source, at, head), left = source->size - at;
        if (length > left)
            return fail_cut(source, at, err);
        *count += length > 0;
        if (length == 0)
            length = get_tag(source, at);
        if (length == 0 && goes_on(source, at + 1, head))
            return trl__fail_byte(err, TRL_ECORRUPT, source->name, trl__sound_source_place(source, at),
                                  "no frame of sound here, but others follow: the file is damaged; copy it again, or "
                                  "keep what is left with: ffmpeg -i IN -c copy OUT");
        if (length == 0) {
            uint8_t rest[4];
            size_t n = trl__sound_source_get(source, at, rest, sizeof rest);
            return n < sizeof rest && n > 0 && rest[0] == head[0] ? fail_cut(source, at, err) : 0;
        }
        at += length < left ? length : left;
    }
    return 0;
}

int trl__mpeg_check(trl__sound_source *source, trl_error *err)
{
    uint8_t head[4];
    uint64_t at = 0;
    for (uint64_t tag; (tag = get_tag(source, at)) > 0;)
        at += tag;
    size_t length = trl__sound_source_get(source, at, head, 4) == 4 ? frame_length(head) : 0;
    if (at > 0 && length == 0) /* some other sound behind a tag */
        return 0;
    /* Samples without a header may begin like a frame, and libsndfile then takes them for it: a second must follow. */
    if (length == 0 || (at + length < source->size && get_frame(source, at + length, head) == 0))
        return trl__sound_header_explain(source, err);
    if (has_count(source, at, head))
        return 0;
    uint32_t count;
    int code = follow_chain(source, at, head, &count, err);
    int is_third_layer = (head[1] >> 1 & 3) == 1;
    if (code == 0 && is_third_layer)
        show_count(source, at, head, count);
    source->is_uncounted = !is_third_layer;
    return code;
}
