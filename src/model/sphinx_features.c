/* The front end of a Sphinx model: feat.params, lines of options of Sphinx's programs.
 *
 * Whatever Sphinx makes of the cepstra of neighbouring frames (deltas of several kinds, its four old streams, LDA) is linear: it becomes
 * splicing and one matrix. What a folder does not say is as Sphinx's programs had it when they wrote such folders; so noise is
 * removed unless feat.params says no.
 */
#include "model/sphinx_model.h"

#include "base/fail.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/frontend.h>

#define REACH 4 /* frames: the most that a kind of feature looks at on either side */

typedef struct reader {
    trl_frontend_options o;
    char kind[64];       /* of features: 1s_c_d_dd … */
    char streams[256];   /* -svspec; "": as they come */
    double length, rate; /* of the window, seconds; frames per second */
    const char *name;
    trl_error *err;
} reader;

/* ---- Options ---- */

/* Names that a front end of ours has for the same. */
static const char *const same[][2] = {
    {"-samprate", "rate"},
    {"-nfilt", "mel_bins"},
    {"-lowerf", "low_hz"},
    {"-upperf", "high_hz"},
    {"-ncep", "num_ceps"},
    {"-ceplen", "num_ceps"},
    {"-lifter", "lifter"},
    {"-alpha", "preemphasis"},
    {"-nfft", "fft_length"},
    {"-unit_area", "filter_unit_area"},
    {"-round_filters", "filter_round"},
    {"-remove_dc", "remove_dc"},
    {"-cmninit", "cmvn_prior"},
    {"-remove_noise", "denoise"},
    {"-varnorm", "cmvn_variance"},
};

/* What would change the features and is not known here. */
static const char *const refused[][2] = {{"-agc", "none"},   {"-doublebw", "no"},  {"-smoothspec", "no"},
                                         {"-logspec", "no"}, {"-warp_params", ""}, {"-input_endian", "little"}};

static int is_yes(const char *value)
{
    return strchr("yYtT1", value[0]) != NULL;
}

static int is_switch(const char *value)
{
    return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 || strcmp(value, "true") == 0 ||
           strcmp(value, "false") == 0;
}

static int is_cmn(const char *value)
{
    static const char *const known[] = {"none", "batch", "current", "live", "prior"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(value, known[i]) == 0)
            return 1;
    return 0;
}

static int set_choice(reader *r, const char *key, const char *value)
{
    if (strcmp(key, "-transform") == 0)
        return trl_frontend_set(&r->o, "dct", strcmp(value, "dct") == 0 ? "layout" : value, r->err);
    if (strcmp(key, "-cmn") == 0 && !is_cmn(value))
        return trl__fail(r->err, TRL_EUNSUPPORTED, "-cmn %s: batch, live (or prior), current and none are known",
                         value);
    if (strcmp(key, "-cmn") == 0)
        return trl_frontend_set(&r->o, "cmvn",
                                strcmp(value, "none") == 0                                  ? "none"
                                : strcmp(value, "live") == 0 || strcmp(value, "prior") == 0 ? "live"
                                                                                            : "utterance",
                                r->err);
    if (strcmp(key, "-feat") == 0)
        snprintf(r->kind, sizeof r->kind, "%s", value);
    if (strcmp(key, "-svspec") == 0)
        snprintf(r->streams, sizeof r->streams, "%s", value);
    if (strcmp(key, "-wlen") == 0 && (trl__parse_double(value, &r->length) < 0 || !(r->length > 0)))
        return trl__fail(r->err, TRL_EFORMAT, "-wlen %s: seconds, more than 0", value);
    if (strcmp(key, "-frate") == 0 && (trl__parse_double(value, &r->rate) < 0 || !(r->rate > 0)))
        return trl__fail(r->err, TRL_EFORMAT, "-frate %s: frames per second, more than 0", value);
    return 0;
}

static int set_option(reader *r, const char *key, const char *value)
{
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(key, same[i][0]) == 0)
            return trl_frontend_set(&r->o, same[i][1], is_switch(value) ? is_yes(value) ? "1" : "0" : value, r->err);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(key, refused[i][0]) == 0 && strcmp(value, refused[i][1]) != 0)
            return trl__fail(r->err, TRL_EUNSUPPORTED, "%s %s: such features are not known; only %s %s is", key, value,
                             key, refused[i][1]);
    return set_choice(r, key, value);
}

static int read_params(reader *r, trl__source *params)
{
    char *line;
    size_t length;
    int more, code = 0;
    while (code == 0 && (more = trl__source_line(params, &line, &length, r->err)) != 0) {
        if (more < 0)
            return more;
        const char *key = trl__next_field(&line), *value = key ? trl__next_field(&line) : NULL;
        if (!key || *key == '#')
            continue;
        if (*key != '-' || !value)
            return trl__source_fail(params, r->err, TRL_EFORMAT, "expected an option and its value, as in -nfilt 25");
        trl_error *outer = r->err, inner;
        r->err = &inner;
        code = set_option(r, key, value);
        r->err = outer;
        if (code < 0)
            trl__source_fail(params, outer, code, "%s", inner.text);
    }
    return code;
}

/* In samples Sphinx rounds, we cut: the length must come out the same. */
static double milliseconds(double rate, double seconds)
{
    double samples = (double)(int64_t)(seconds * rate + 0.5), ms = 1000 * samples / rate;
    return (int64_t)(rate * ms / 1000) == (int64_t)samples ? ms : 1000 * (samples + 0.25) / rate;
}

/* ---- The matrix ---- */

/* One kind of value of a row: the coefficient at some frames, added up. */
typedef enum value { PLAIN, DELTA, LONG_DELTA, DELTA_DELTA } value;
static const int8_t filters[4][2 * REACH + 1] = {{0, 0, 0, 0, 1, 0, 0, 0, 0},
                                                 {0, 0, -1, 0, 0, 0, 1, 0, 0},
                                                 {-1, 0, 0, 0, 0, 0, 0, 0, 1},
                                                 {0, 1, 0, -1, 0, -1, 0, 1, 0}};

/* Values `first` to `last` of a frame, of one kind. */
typedef struct part {
    value value;
    int first, last; /* -1: to the end */
} part;

typedef struct feature_kind {
    const char *name;
    int reach;
    part parts[8]; /* up to one whose last is 0 and that is not the first */
    int count;
} feature_kind;

static const feature_kind kinds[] = {
    {"1s_c", 0, {{PLAIN, 0, -1}}, 1},
    {"1s_c_d", 2, {{PLAIN, 0, -1}, {DELTA, 0, -1}}, 2},
    {"1s_c_d_dd", 3, {{PLAIN, 0, -1}, {DELTA, 0, -1}, {DELTA_DELTA, 0, -1}}, 3},
    {"1s_c_d_ld_dd", 4, {{PLAIN, 0, -1}, {DELTA, 0, -1}, {LONG_DELTA, 0, -1}, {DELTA_DELTA, 0, -1}}, 4},
    {"s2_4x",
     4,
     {{PLAIN, 1, -1},
      {DELTA, 1, -1},
      {LONG_DELTA, 1, -1},
      {PLAIN, 0, 0},
      {DELTA, 0, 0},
      {DELTA_DELTA, 0, 0},
      {DELTA_DELTA, 1, -1}},
     7},
    {"s3_1x39",
     3,
     {{PLAIN, 1, -1}, {DELTA, 1, -1}, {PLAIN, 0, 0}, {DELTA, 0, 0}, {DELTA_DELTA, 0, 0}, {DELTA_DELTA, 1, -1}},
     6},
};

static const feature_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static int last_of(const part *p, int dim)
{
    return p->last < 0 ? dim - 1 : p->last;
}

/* Rows of the features over 2 reach + 1 frames side by side. */
static int feature_rows(const feature_kind *kind, int dim, trl_matrix *out, trl_error *err)
{
    size_t rows = 0, frames = 2 * (size_t)kind->reach + 1;
    for (int i = 0; i < kind->count; i++)
        rows += (size_t)(last_of(&kind->parts[i], dim) - kind->parts[i].first + 1);
    int code = trl_matrix_resize(out, rows, frames * (size_t)dim, err);
    if (code < 0)
        return code;
    size_t row = 0;
    for (int i = 0; i < kind->count; i++)
        for (int c = kind->parts[i].first; c <= last_of(&kind->parts[i], dim); c++, row++) {
            float *to = trl_matrix_row(out, row);
            memset(to, 0, out->cols * sizeof *to);
            for (size_t f = 0; f < frames; f++)
                to[f * (size_t)dim + (size_t)c] = filters[kind->parts[i].value][REACH - (size_t)kind->reach + f];
        }
    return 0;
}

/* A whole number at *at, which moves behind it; -1: there is none. */
static int64_t take_number(const char **at)
{
    char *end;
    long long number = strtoll(*at, &end, 10);
    int good = end > *at && number >= 0;
    *at = end;
    return good ? number : -1;
}

/* The rows that -svspec names, as in "0-12/13-25,39": in their order. */
static int choose_rows(reader *r, trl_matrix *m)
{
    trl_matrix chosen = {0};
    size_t rows = 0;
    int code = trl_matrix_resize(&chosen, TRL__DIM_MOST < 4 * m->rows ? TRL__DIM_MOST : 4 * m->rows, m->cols, r->err);
    for (const char *at = r->streams; code == 0 && *at;) {
        int64_t first = take_number(&at), last = first;
        if (*at == '-') {
            at++;
            last = take_number(&at);
        }
        if (first < 0 || last < first || last >= (int64_t)m->rows || (*at && !strchr(",/", *at)) ||
            rows + (size_t)(last - first) >= chosen.rows) {
            code = trl__fail(r->err, TRL_EFORMAT, "-svspec %s: ranges of the %zu values are needed, as in 0-12/13-25",
                             r->streams, m->rows);
            break;
        }
        for (int64_t i = first; i <= last; i++)
            memcpy(trl_matrix_row(&chosen, rows++), trl_matrix_row(m, (size_t)i), m->cols * sizeof(float));
        at += *at != '\0';
    }
    chosen.rows = rows;
    trl_matrix_free(m);
    *m = chosen;
    return code;
}

static int multiply(const trl_matrix *left, trl_matrix *m, trl_error *err)
{
    trl_matrix product = {0};
    if (left->cols != m->rows)
        return trl__fail(err, TRL_ECORRUPT, "feature_transform: for %zu values; the features have %zu", left->cols,
                         m->rows);
    int code = trl_matrix_resize(&product, left->rows, m->cols, err);
    for (size_t r = 0; code == 0 && r < left->rows; r++)
        for (size_t c = 0; c < m->cols; c++) {
            double sum = 0;
            for (size_t k = 0; k < left->cols; k++)
                sum += (double)trl_matrix_row(left, r)[k] * (double)trl_matrix_row(m, k)[c];
            trl_matrix_row(&product, r)[c] = (float)sum;
        }
    trl_matrix_free(m);
    *m = product;
    return code;
}

static int make_transform(reader *r, const trl_matrix *lda)
{
    const feature_kind *kind = find_kind(r->kind);
    if (!kind)
        return trl__fail(r->err, TRL_EUNSUPPORTED,
                         "-feat %s: not known; there are 1s_c, 1s_c_d, 1s_c_d_dd, 1s_c_d_ld_dd, s2_4x, s3_1x39",
                         r->kind);
    r->o.splice_left = r->o.splice_right = kind->reach;
    int code = feature_rows(kind, r->o.num_ceps, &r->o.transform, r->err);
    if (code == 0 && lda && lda->rows > 0)
        code = multiply(lda, &r->o.transform, r->err);
    return code == 0 && r->streams[0] ? choose_rows(r, &r->o.transform) : code;
}

int trl__sphinx_features(trl__source *params, const trl_matrix *lda, int32_t dim, char **description, trl_error *err)
{
    reader r = {.kind = "1s_c_d_dd", .length = 0.025625, .rate = 100, .err = err};
    trl_frontend *frontend = NULL;
    *description = NULL;
    int code = trl_frontend_preset(&r.o, "sphinx", err);
    if (code == 0 && params)
        code = read_params(&r, params);
    r.o.silence = TRL_SILENCE_FILL;
    r.o.frame_ms = milliseconds(r.o.rate, r.length);
    r.o.shift_ms = milliseconds(r.o.rate, 1 / r.rate);
    if (code == 0)
        code = make_transform(&r, lda);
    if (code == 0)
        code = trl_frontend_create(&r.o, &frontend, err);
    if (code == 0 && trl_frontend_dim(frontend) != dim)
        code = trl__fail(err, TRL_ECORRUPT, "feat.params: features of %d values, where the means have %" PRId32,
                         trl_frontend_dim(frontend), dim);
    if (code == 0 && !(*description = trl__strdup(trl_frontend_description(frontend))))
        code = trl__fail_memory(err);
    trl_frontend_destroy(frontend);
    trl_matrix_free(&r.o.transform);
    return code;
}
