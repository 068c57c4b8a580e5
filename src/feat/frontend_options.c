/* The description of a front end: presets, setting members by name, checking, printing and reading.
 *
 * One table of fields drives all of it, so that a member can't be settable but not printed, or printed but not
 * documented.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "feat/frontend_tables.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum value_type { VALUE_NUMBER, VALUE_INT, VALUE_SEED, VALUE_CHOICE, VALUE_MEAN } value_type;

typedef struct field {
    trl_frontend_field shown;
    value_type type;
    size_t offset;
    const char *const *choices; /* NULL-terminated names of the values 0, 1, 2 … */
    double least, most;
} field;

static const char *const kinds[] = {"mfcc", "plp", "fbank", NULL};
static const char *const windows[] = {"povey", "hamming", "hann", "rectangular", "blackman", NULL};
static const char *const spectra[] = {"power", "magnitude", NULL};
static const char *const energies[] = {"none", "raw", "windowed", NULL};
static const char *const axes[] = {"mel", "hertz", NULL};
static const char *const dcts[] = {"layout", "htk", "legacy", NULL};
static const char *const layouts[] = {"kaldi", "htk", NULL};
static const char *const cmvn_modes[] = {"none", "utterance", "speaker", "sliding", "live", NULL};
static const char *const silence_modes[] = {"as-is", "fill", NULL};
static const char *const switches[] = {"0", "1", NULL};

#define PLACE(member) offsetof(trl_frontend_options, member)
#define NUMBER(member, least, most, help)                                         \
    {                                                                             \
        {#member, "number", help}, VALUE_NUMBER, PLACE(member), NULL, least, most \
    }
#define WHOLE(member, least, most, help)                                             \
    {                                                                                \
        {#member, "whole number", help}, VALUE_INT, PLACE(member), NULL, least, most \
    }
#define SWITCH(member, help)                                                  \
    {                                                                         \
        {#member, "0 | 1", help}, VALUE_CHOICE, PLACE(member), switches, 0, 1 \
    }
#define CHOICE(member, names, values, help)                               \
    {                                                                     \
        {#member, values, help}, VALUE_CHOICE, PLACE(member), names, 0, 0 \
    }
#define MEAN(member, help)                                                \
    {                                                                     \
        {#member, "numbers", help}, VALUE_MEAN, PLACE(member), NULL, 0, 0 \
    }

static const field fields[] = {
    CHOICE(kind, kinds, "mfcc | plp | fbank", "mel cepstra, perceptual linear prediction, or log-mel filterbank"),
    NUMBER(rate, 1000, 384000, "samples per second; sound is resampled to it"),
    NUMBER(frame_ms, 1, 1000, "length of the analysis window, ms"),
    NUMBER(shift_ms, 0.1, 1000, "step from one frame to the next, ms"),
    WHOLE(fft_length, 0, 65536, "points of the transform, a power of two; 0: the next one from the window's length up"),
    SWITCH(snip_edges, "1: only frames that lie in the sound; 0: one frame per shift, the sound mirrored at its ends"),
    SWITCH(pad_end, "a last frame of what sound is left, zeros behind it; with snip_edges = 1"),
    NUMBER(dither, 0, 1000, "standard deviation of added noise, 16-bit units"),
    {{"seed", "whole number", "of the dither"}, VALUE_SEED, PLACE(seed), NULL, 0, 0},
    SWITCH(remove_dc, "subtract each frame's mean"),
    NUMBER(preemphasis, 0, 1, "x(n) - k x(n-1)"),
    SWITCH(preemphasis_across, "1: from sample to sample of the whole sound, silence before it; 0: within each frame"),
    CHOICE(window, windows, "povey | hamming | hann | rectangular | blackman",
           "shape of the window; povey is Kaldi's hann to the power 0.85"),
    NUMBER(blackman, 0, 1, "the Blackman window's constant"),
    WHOLE(mel_bins, 3, TRL__MOST_BINS, "number of triangular mel filters"),
    CHOICE(filter_axis, axes, "mel | hertz", "where the sides of the filters are straight; hertz is Sphinx's"),
    SWITCH(filter_round, "corners of the filters lie on points of the transform; with filter_axis = hertz"),
    SWITCH(filter_unit_area, "each filter has the area 1 (Hz), not the height 1; with filter_axis = hertz"),
    NUMBER(low_hz, 0, 192000, "lower edge of the filterbank, Hz"),
    NUMBER(high_hz, -192000, 192000, "upper edge, Hz; 0 or negative: counted from the Nyquist frequency"),
    CHOICE(spectrum, spectra, "power | magnitude", "what the filters add up; magnitude is HTK's default"),
    SWITCH(denoise, "Sphinx's removal of noise: mel bins are weighted by what is left above a floor that follows them"),
    NUMBER(floor, 1e-30, 1e30, "least value of a mel bin; HTK takes 1, Kaldi the float epsilon"),
    SWITCH(floor_added, "the floor is added to every mel bin, instead of being the least value"),
    CHOICE(dct, dcts, "layout | htk | legacy",
           "cosine transform: by the layout; C0 scaled by the square root of two; the one of old Sphinx models"),
    WHOLE(num_ceps, 1, TRL__MOST_BINS, "cepstra with C0"),
    NUMBER(lifter, 0, 1000, "cepstral liftering constant; 0: none"),
    CHOICE(energy, energies, "none | raw | windowed",
           "log energy in place of C0 (added, for fbank): before pre-emphasis and window, or after"),
    NUMBER(energy_floor, 0, 1e30, "least energy; below the float epsilon, the epsilon counts"),
    SWITCH(energy_normalise, "HTK's ENORMALISE: 1 - (max - E) / 10, 50 dB deep; whole utterances only"),
    CHOICE(layout, layouts, "kaldi | htk", "C0 or energy first; or last, with C0 scaled by the square root of two"),
    WHOLE(lpc_order, 1, TRL__MOST_ORDER, "order of linear prediction (PLP)"),
    NUMBER(compress, 0.01, 1, "loudness exponent (PLP)"),
    NUMBER(cepstral_scale, 1e-6, 1e6, "factor on the cepstra (PLP)"),
    CHOICE(cmvn, cmvn_modes, "none | utterance | speaker | sliding | live",
           "mean normalisation of the static coefficients; sliding and live, which is Sphinx's, can stream"),
    SWITCH(cmvn_variance, "normalise the variance too"),
    SWITCH(cmvn_loud, "frames whose first coefficient is negative do not count in the mean; with cmvn = utterance"),
    WHOLE(cmvn_window, 2, 1000000, "frames of the sliding window"),
    WHOLE(cmvn_min_window, 1, 1000000, "frames it has at least, at the beginning"),
    SWITCH(cmvn_center, "the window lies around the frame, not before it"),
    MEAN(cmvn_prior,
         "mean to begin with, with cmvn = live or sliding: numbers with commas between; those that are missing are 0"),
    WHOLE(cmvn_prior_frames, 0, 1000000,
          "as many frames of the prior are in the sliding window beside its own, unless that is far from it"),
    CHOICE(silence, silence_modes, "as-is | fill",
           "frames that hold nothing, digital zeros or noise of one unit: as they are; or not counted in means, and "
           "filled in"),
    MEAN(silence_mean,
         "what they are filled in with, behind CMVN; empty: the quietest tenth of a second of the utterance"),
    WHOLE(deltas, 0, 100, "order of the time derivatives appended; 2: delta and delta-delta"),
    WHOLE(delta_window, 1, 1000, "frames on each side that a derivative looks at"),
    WHOLE(splice_left, 0, 100, "earlier frames put before each frame"),
    WHOLE(splice_right, 0, 100, "later frames put behind it"),
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

const trl_frontend_field *trl_frontend_field_at(size_t index)
{
    return index < FIELD_COUNT ? &fields[index].shown : NULL;
}

/* Kaldi's defaults for all kinds, without dither: the same sound then always gives the same features. */
static const trl_frontend_options kaldi_mfcc = {
    .kind = TRL_MFCC,
    .rate = 16000,
    .frame_ms = 25,
    .shift_ms = 10,
    .snip_edges = 1,
    .remove_dc = 1,
    .preemphasis = 0.97,
    .window = TRL_POVEY,
    .blackman = 0.42,
    .mel_bins = 23,
    .low_hz = 20,
    .spectrum = TRL_POWER,
    .floor = FLT_EPSILON,
    .num_ceps = 13,
    .lifter = 22,
    .energy = TRL_ENERGY_RAW,
    .layout = TRL_LAYOUT_KALDI,
    .lpc_order = 12,
    .compress = 0.33333,
    .cepstral_scale = 1,
    .cmvn = TRL_CMVN_NONE,
    .cmvn_window = 600,
    .cmvn_min_window = 100,
    .delta_window = 2,
};

int trl_frontend_preset(trl_frontend_options *options, const char *name, trl_error *err)
{
    trl_frontend_options o = kaldi_mfcc;
    if (strcmp(name, "fbank") == 0) {
        o.kind = TRL_FBANK;
        o.energy = TRL_ENERGY_NONE;
    } else if (strcmp(name, "plp") == 0) {
        o.kind = TRL_PLP;
    } else if (strcmp(name, "plp8k") == 0) { /* [001] section IV-B: raised-cosine window, 200 samples padded to 512 */
        o.kind = TRL_PLP;
        o.rate = 8000;
        o.fft_length = 512;
        o.window = TRL_HANN;
    } else if (strcmp(name, "htk") == 0) { /* TARGETKIND = MFCC_0 with HTK's own defaults, 26 channels */
        o.window = TRL_HAMMING;
        o.remove_dc = 0;
        o.mel_bins = 26;
        o.low_hz = 0;
        o.spectrum = TRL_MAGNITUDE;
        o.floor = 1;
        o.energy = TRL_ENERGY_NONE;
        o.layout = TRL_LAYOUT_HTK;
    } else if (strcmp(name, "sphinx") == 0) { /* the defaults of its programs, legacy cosine transform and all */
        o.frame_ms = 25.625;
        o.pad_end = o.preemphasis_across = o.floor_added = o.denoise = o.cmvn_loud = 1;
        o.remove_dc = 0;
        o.window = TRL_HAMMING;
        o.mel_bins = 40;
        o.filter_axis = TRL_FILTERS_HERTZ;
        o.filter_round = o.filter_unit_area = 1;
        o.low_hz = 133.33334;
        o.high_hz = 6855.4976;
        o.floor = 1e-4;
        o.dct = TRL_DCT_LEGACY;
        o.lifter = 0;
        o.energy = TRL_ENERGY_NONE;
        o.cmvn = TRL_CMVN_UTTERANCE;
    } else if (strcmp(name, "mfcc") != 0) {
        return trl__fail(err, TRL_EINVAL, "there is no preset '%s'; there are mfcc, fbank, plp, plp8k, htk, sphinx",
                         name);
    }
    *options = o;
    return 0;
}

static double get_value(const trl_frontend_options *options, const field *f)
{
    const char *place = (const char *)options + f->offset;
    return f->type == VALUE_NUMBER ? *(const double *)(const void *)place : *(const int *)(const void *)place;
}

static int set_choice(int *place, const field *f, const char *value, trl_error *err)
{
    for (int i = 0; f->choices[i]; i++)
        if (strcmp(f->choices[i], value) == 0) {
            *place = i;
            return 0;
        }
    return trl__fail(err, TRL_EINVAL, "%s = %s: choose %s", f->shown.name, value, f->shown.values);
}

static int set_mean(trl_static_mean *mean, const char *name, const char *value, trl_error *err)
{
    trl_static_mean read = {0};
    for (const char *at = value + strspn(value, ", "); *at; at += strspn(at, ", ")) {
        char number[64];
        size_t length = strcspn(at, ", ");
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        if (read.count == TRL_MEAN_MOST || trl__parse_double(number, &read.value[read.count]) < 0)
            return trl__fail(err, TRL_EINVAL, "%s = %s: up to %d numbers are needed, commas between", name, value,
                             TRL_MEAN_MOST);
        read.count++;
        at += length;
    }
    *mean = read;
    return 0;
}

static int set_field(trl_frontend_options *options, const field *f, const char *value, trl_error *err)
{
    char *place = (char *)options + f->offset;
    double number = 0;
    int64_t whole = 0;
    switch (f->type) {
    case VALUE_CHOICE: return set_choice((int *)(void *)place, f, value, err);
    case VALUE_NUMBER:
        if (trl__parse_double(value, &number) < 0 || number < f->least || number > f->most)
            return trl__fail(err, TRL_EINVAL, "%s = %s: a number from %g to %g is needed", f->shown.name, value,
                             f->least, f->most);
        *(double *)(void *)place = number;
        return 0;
    case VALUE_INT:
        if (trl__parse_int(value, &whole) < 0 || (double)whole < f->least || (double)whole > f->most)
            return trl__fail(err, TRL_EINVAL, "%s = %s: a whole number from %.0f to %.0f is needed", f->shown.name,
                             value, f->least, f->most);
        *(int *)(void *)place = (int)whole;
        return 0;
    case VALUE_SEED:
        if (trl__parse_int(value, &whole) < 0 || whole < 0)
            return trl__fail(err, TRL_EINVAL, "%s = %s: a whole number from 0 up is needed", f->shown.name, value);
        *(uint64_t *)(void *)place = (uint64_t)whole;
        return 0;
    case VALUE_MEAN: return set_mean((trl_static_mean *)(void *)place, f->shown.name, value, err);
    }
    return TRL_EINVAL;
}

/* "frame_ms" and "frame-ms" are the same key. */
static int same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '-' && *b == '_'))
            return 0;
    return *a == *b;
}

int trl_frontend_set(trl_frontend_options *options, const char *key, const char *value, trl_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (same_key(key, fields[i].shown.name))
            return set_field(options, &fields[i], value, err);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strstr(fields[i].shown.name, key) || strstr(key, fields[i].shown.name))
            return trl__fail(err, TRL_EINVAL, "a front end has no '%s'; did you mean %s?", key, fields[i].shown.name);
    char keys[1200] = "";
    for (size_t i = 0, used = 0; i < FIELD_COUNT && used < sizeof keys; i++)
        used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", fields[i].shown.name);
    return trl__fail(err, TRL_EINVAL, "a front end has no '%s'; it has%s", key, keys);
}

static int check_ranges(const trl_frontend_options *o, trl_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        double least = f->least, most = f->most;
        if (f->type == VALUE_SEED && o->seed > INT64_MAX)
            return trl__fail(err, TRL_EINVAL, "seed = %" PRIu64 ": at most %" PRId64, o->seed, INT64_MAX);
        if (f->type == VALUE_SEED || f->type == VALUE_MEAN)
            continue;
        if (f->type == VALUE_CHOICE)
            for (most = -1; f->choices[(int)most + 1]; most++)
                ;
        double value = get_value(o, f);
        if (!(value >= least && value <= most))
            return trl__fail(err, TRL_EINVAL, "%s = %g: choose %g to %g", f->shown.name, value, least, most);
    }
    return 0;
}

static int check_spectrum(const trl_frontend_options *o, trl_error *err)
{
    double nyquist = o->rate / 2, high = o->high_hz > 0 ? o->high_hz : nyquist + o->high_hz;
    int length = (int)(o->rate * o->frame_ms / 1000), shift = (int)(o->rate * o->shift_ms / 1000);
    if (length < 2 || shift < 1)
        return trl__fail(err, TRL_EINVAL, "frames of %d samples every %d: frame_ms or shift_ms is too small", length,
                         shift);
    if (length > 32768)
        return trl__fail(err, TRL_EINVAL, "frames of %d samples: frame_ms is too large", length);
    if (o->fft_length != 0 && (o->fft_length & (o->fft_length - 1) || o->fft_length < length || o->fft_length < 16))
        return trl__fail(err, TRL_EINVAL, "fft_length = %d: a power of two from %d up is needed", o->fft_length,
                         length < 16 ? 16 : length);
    if (high > nyquist || o->low_hz >= high)
        return trl__fail(err, TRL_EINVAL, "the filterbank goes from %g to %g Hz; it must rise and end at %g Hz at most",
                         o->low_hz, high, nyquist);
    return 0;
}

static int check_mean(const trl_static_mean *mean, const char *name, trl_error *err)
{
    if (mean->count < 0 || mean->count > TRL_MEAN_MOST)
        return trl__fail(err, TRL_EINVAL, "%s has %d numbers; at most %d", name, mean->count, TRL_MEAN_MOST);
    for (int i = 0; i < mean->count; i++)
        if (!isfinite(mean->value[i]))
            return trl__fail(err, TRL_EINVAL, "%s: number %d is not finite", name, i + 1);
    return 0;
}

static int check_cepstra(const trl_frontend_options *o, trl_error *err)
{
    if (o->kind == TRL_MFCC && o->num_ceps > o->mel_bins)
        return trl__fail(err, TRL_EINVAL, "num_ceps = %d: at most mel_bins = %d", o->num_ceps, o->mel_bins);
    if (o->kind == TRL_PLP && o->num_ceps > o->lpc_order + 1)
        return trl__fail(err, TRL_EINVAL, "num_ceps = %d: at most lpc_order + 1 = %d", o->num_ceps, o->lpc_order + 1);
    if (o->kind == TRL_PLP && o->lpc_order > o->mel_bins)
        return trl__fail(err, TRL_EINVAL, "lpc_order = %d: at most mel_bins = %d", o->lpc_order, o->mel_bins);
    if (o->energy_normalise && o->energy == TRL_ENERGY_NONE)
        return trl__fail(err, TRL_EINVAL, "energy_normalise needs energy = raw or windowed");
    int code = check_mean(&o->cmvn_prior, "cmvn_prior", err);
    if (code == 0)
        code = check_mean(&o->silence_mean, "silence_mean", err);
    if (code < 0)
        return code;
    if (o->silence_mean.count > 0 && o->silence_mean.count != trl__frontend_statics(o))
        return trl__fail(err, TRL_EINVAL, "silence_mean has %d numbers; the front end makes %d", o->silence_mean.count,
                         trl__frontend_statics(o));
    if (o->cmvn == TRL_CMVN_LIVE && o->cmvn_variance)
        return trl__fail(err, TRL_EINVAL, "cmvn = live does not normalise the variance; take cmvn_variance = 0");
    if (o->cmvn == TRL_CMVN_SLIDING && o->cmvn_min_window > o->cmvn_window)
        return trl__fail(err, TRL_EINVAL, "cmvn_min_window = %d: at most cmvn_window = %d", o->cmvn_min_window,
                         o->cmvn_window);
    return 0;
}

int trl_frontend_check(const trl_frontend_options *options, trl_error *err)
{
    int code = check_ranges(options, err);
    if (code == 0)
        code = check_spectrum(options, err);
    return code == 0 ? check_cepstra(options, err) : code;
}

/* "transform = ROWS COLS v v v …" */
static int parse_transform(trl_frontend_options *o, char *value, trl_error *err)
{
    int64_t rows = 0, cols = 0;
    const char *row_text = trl__next_field(&value), *col_text = trl__next_field(&value);
    if (!row_text || !col_text || trl__parse_int(row_text, &rows) < 0 || trl__parse_int(col_text, &cols) < 0 ||
        rows < 1 || cols < 1 || rows > TRL__MOST_TRANSFORM || cols > TRL__MOST_TRANSFORM ||
        (size_t)(rows * cols) > strlen(value))
        return trl__fail(err, TRL_EFORMAT, "transform: rows, columns and rows x columns numbers are needed");
    trl_matrix matrix = {0};
    if (trl_matrix_resize(&matrix, (size_t)rows, (size_t)cols, err) < 0)
        return TRL_ENOMEM;
    for (int64_t i = 0; i < rows * cols; i++) {
        const char *text = trl__next_field(&value);
        double number;
        if (!text || trl__parse_double(text, &number) < 0 || !isfinite((float)number)) {
            trl_matrix_free(&matrix);
            return trl__fail(err, TRL_EFORMAT, "transform: number %" PRId64 " of %" PRId64 " is missing or wrong",
                             i + 1, rows * cols);
        }
        matrix.data[i] = (float)number;
    }
    if (trl__next_field(&value)) {
        trl_matrix_free(&matrix);
        return trl__fail(err, TRL_EFORMAT, "transform: more than %" PRId64 " x %" PRId64 " numbers", rows, cols);
    }
    trl_matrix_free(&o->transform);
    o->transform = matrix;
    return 0;
}

/* Splits "key = value" in place; 0 when there is no '=' or not one word before it. */
static int split_line(char *line, char **key, char **value)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return 0;
    *equals = '\0';
    *key = trl__next_field(&line);
    *value = trl__trim(equals + 1);
    return *key && !trl__next_field(&line);
}

static int parse_line(trl_frontend_options *o, char *line, trl_error *err)
{
    char *key, *value;
    if (line[strspn(line, " \t")] == '\0' || line[strspn(line, " \t")] == '#')
        return 0;
    if (!split_line(line, &key, &value))
        return trl__fail(err, TRL_EFORMAT, "not a line of the form `key = value`");
    if (strcmp(key, "preset") == 0) {
        trl_matrix_free(&o->transform); /* a preset has none */
        return trl_frontend_preset(o, value, err);
    }
    if (strcmp(key, "transform") == 0)
        return parse_transform(o, value, err);
    return trl_frontend_set(o, key, value, err);
}

static int parse_lines(trl_frontend_options *options, trl__text *lines, const char *name, trl_error *err)
{
    char *line;
    size_t length;
    int code = 0;
    trl_error inner;
    while (code == 0 && trl__text_line(lines, &line, &length))
        code = trl__utf8_check(line, length) == length ? parse_line(options, line, &inner)
                                                       : trl__fail(&inner, TRL_EFORMAT, "not valid UTF-8 text");
    if (code < 0)
        trl__fail_line(err, code, name, lines->line, "%s", inner.text);
    trl__text_free(lines);
    return code;
}

int trl_frontend_parse(trl_frontend_options *options, const char *text, const char *name, trl_error *err)
{
    trl__text lines;
    int code = trl__text_from_memory(name, text, strlen(text), &lines, err);
    return code == 0 ? parse_lines(options, &lines, name, err) : code;
}

int trl_frontend_read(trl_frontend_options *options, const char *path, trl_error *err)
{
    trl__text lines;
    int code = trl__text_read(path, &lines, err);
    return code == 0 ? parse_lines(options, &lines, path, err) : code;
}

/* A text that grows; `failed` instead of a check per line. */
typedef struct growing_text {
    char *bytes;
    size_t size, capacity;
    int failed;
} growing_text;

static void append(growing_text *text, const char *piece)
{
    size_t length = strlen(piece);
    if (text->failed || TRL_GROW(text->bytes, text->capacity, text->size + length + 1) < 0) {
        text->failed = 1;
        return;
    }
    memcpy(text->bytes + text->size, piece, length + 1);
    text->size += length;
}

static void append_mean(growing_text *text, const trl_static_mean *mean, const char *name)
{
    char value[64];
    append(text, name);
    append(text, " = ");
    for (int i = 0; i < mean->count; i++) {
        trl__format_double(mean->value[i], value);
        append(text, i ? "," : "");
        append(text, value);
    }
    append(text, "\n");
}

static void append_field(growing_text *text, const trl_frontend_options *o, const field *f)
{
    char value[64];
    if (f->type == VALUE_MEAN) {
        append_mean(text, (const trl_static_mean *)(const void *)((const char *)o + f->offset), f->shown.name);
        return;
    }
    if (f->type == VALUE_CHOICE)
        snprintf(value, sizeof value, "%s", f->choices[(int)get_value(o, f)]);
    else if (f->type == VALUE_SEED)
        snprintf(value, sizeof value, "%" PRIu64, o->seed);
    else if (f->type == VALUE_INT)
        snprintf(value, sizeof value, "%.0f", get_value(o, f));
    else
        trl__format_double(get_value(o, f), value);
    append(text, f->shown.name);
    append(text, " = ");
    append(text, value);
    append(text, "\n");
}

static void append_transform(growing_text *text, const trl_matrix *m)
{
    char number[64];
    snprintf(number, sizeof number, "transform = %zu %zu", m->rows, m->cols);
    append(text, number);
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++) {
            number[0] = ' ';
            trl__format_float(trl_matrix_row(m, r)[c], number + 1);
            append(text, number);
        }
    append(text, "\n");
}

int trl__frontend_describe(const trl_frontend_options *options, char **out, trl_error *err)
{
    growing_text text = {0};
    for (size_t i = 0; i < FIELD_COUNT; i++)
        append_field(&text, options, &fields[i]);
    if (options->transform.rows > 0)
        append_transform(&text, &options->transform);
    if (text.failed) {
        trl__free(text.bytes);
        return trl__fail_memory(err);
    }
    *out = text.bytes;
    return 0;
}
