/* Sphinx's model definition: which tied states the states of phones and triphones have.
 *
 * Text: version 0.3, six numbers, then a line for each phone: base, left, right, place in the word, "filler" or "n/a", transition
 * matrix, tied states, N. Binary: "BMDF", version, a text, ten numbers, the names, a tree to find triphones by (which we do not need),
 * phones of 12 bytes, sequences of tied states of 16 bits. In the byte order of its writer.
 */
#include "model/sphinx_model.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <string.h>

#define VERSION_TEXT "0.3"
#define STATES_MOST 100

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

typedef struct reader {
    trl__source *source;
    trl__sphinx_mdef *m;
    int big;
    trl_error *err;
} reader;

static int add_phone(reader *r, trl__sphinx_phone phone)
{
    trl__sphinx_mdef *m = r->m;
    if (TRL_GROW(m->phone, m->phone_capacity, (size_t)m->phones + 1) < 0)
        return trl__fail_memory(r->err);
    m->phone[m->phones++] = phone;
    return 0;
}

static int add_senone(reader *r, int64_t senone)
{
    trl__sphinx_mdef *m = r->m;
    if (senone < 0 || senone >= m->senones)
        return FAIL(r, TRL_ECORRUPT, "there is no tied state %" PRId64, senone);
    if (TRL_GROW(m->senone, m->senone_capacity, m->senone_count + 1) < 0)
        return trl__fail_memory(r->err);
    m->senone[m->senone_count++] = (int32_t)senone;
    return 0;
}

static int check_sizes(reader *r, int64_t bases, int64_t phones, int64_t states, int64_t senones, int64_t matrices)
{
    if (bases < 1 || bases > 10000 || phones < bases || phones > INT32_MAX || states < 1 || states > STATES_MOST ||
        senones < 1 || senones > INT32_MAX || matrices < 1 || matrices > INT32_MAX)
        return FAIL(r, TRL_ECORRUPT,
                    "%" PRId64 " phones, %" PRId64 " with triphones, of %" PRId64 " states, %" PRId64
                    " tied states, %" PRId64 " transition matrices",
                    bases, phones, states, senones, matrices);
    r->m->states = (int32_t)states;
    r->m->senones = (int32_t)senones;
    r->m->matrices = (int32_t)matrices;
    r->m->filler = trl__alloc_zero((size_t)bases, 1);
    return r->m->filler ? 0 : trl__fail_memory(r->err);
}

static int check_matrix(reader *r, int64_t matrix)
{
    return matrix >= 0 && matrix < r->m->matrices
               ? 0
               : FAIL(r, TRL_ECORRUPT, "there is no transition matrix %" PRId64, matrix);
}

static int add_name(reader *r, const char *name, size_t length)
{
    long number = trl__strings_add(&r->m->names, name, length);
    if (number < 0)
        return trl__fail_memory(r->err);
    return (size_t)number == r->m->names.count - 1 && length > 0 &&
                   (number == 0 || r->m->names.count == (size_t)r->m->phones + 1)
               ? 0
               : FAIL(r, TRL_ECORRUPT, "the phone %.*s is there twice, or has no name", (int)length, name);
}

/* ---- Text ---- */

/* The next line that is no remark; NULL: the file ends (or fails, *code). */
static char *next_line(reader *r, int *code)
{
    char *line;
    size_t length;
    while ((*code = trl__source_line(r->source, &line, &length, r->err)) > 0) {
        *code = 0;
        line = trl__trim(line);
        if (*line && *line != '#')
            return line;
    }
    return NULL;
}

static int read_counts(reader *r, int64_t *counts)
{
    static const char *const names[6] = {"n_base",       "n_tri",           "n_state_map",
                                         "n_tied_state", "n_tied_ci_state", "n_tied_tmat"};
    int code = 0;
    char *line = next_line(r, &code);
    if (code < 0)
        return code;
    if (!line || strcmp(line, VERSION_TEXT) != 0)
        return FAIL(r, TRL_EFORMAT, "no model definition of Sphinx: the version " VERSION_TEXT " should be here");
    for (int i = 0; i < 6; i++) {
        line = next_line(r, &code);
        if (code < 0)
            return code;
        const char *number = line ? trl__next_field(&line) : NULL, *name = number ? trl__next_field(&line) : NULL;
        if (!name || strcmp(name, names[i]) != 0 || trl__parse_int(number, &counts[i]) < 0)
            return FAIL(r, TRL_EFORMAT, "expected the number %s", names[i]);
    }
    return 0;
}

static int find_phone(const reader *r, const char *name, int32_t *phone)
{
    *phone = (int32_t)trl__strings_find(&r->m->names, name, strlen(name));
    return *phone >= 0 ? 0 : FAIL(r, TRL_EFORMAT, "there is no phone %s", name);
}

static int read_context(reader *r, char **field, int is_base, trl__sphinx_phone *phone)
{
    static const char places[] = "ibes";
    if (is_base) {
        *phone = (trl__sphinx_phone){.base = r->m->phones, .left = -1, .right = -1};
        r->m->filler[r->m->phones] = strcmp(field[4], "filler") == 0;
        return add_name(r, field[0], strlen(field[0]));
    }
    int code = find_phone(r, field[0], &phone->base);
    if (code == 0)
        code = find_phone(r, field[1], &phone->left);
    if (code == 0)
        code = find_phone(r, field[2], &phone->right);
    const char *place = strlen(field[3]) == 1 ? strchr(places, field[3][0]) : NULL;
    if (code == 0 && !place)
        return FAIL(r, TRL_EFORMAT, "the place in the word is b, e, i or s, not %s", field[3]);
    phone->place = code == 0 ? (int32_t)(place - places) : 0;
    return code;
}

static int read_phone_line(reader *r, char *line, int is_base)
{
    char *field[6];
    int64_t number = 0;
    trl__sphinx_phone phone = {0};
    for (int i = 0; i < 6; i++)
        if (!(field[i] = trl__next_field(&line)))
            return FAIL(r, TRL_EFORMAT, "expected phone, left, right, place, attribute, transition matrix, states");
    int code = read_context(r, field, is_base, &phone);
    if (code == 0)
        code = trl__parse_int(field[5], &number) < 0 ? FAIL(r, TRL_EFORMAT, "\"%s\" is no transition matrix", field[5])
                                                     : check_matrix(r, number);
    phone.matrix = (int32_t)number;
    phone.senones = (int32_t)r->m->senone_count;
    for (int32_t s = 0; code == 0 && s < r->m->states; s++) {
        const char *text = trl__next_field(&line);
        code = !text || trl__parse_int(text, &number) < 0
                   ? FAIL(r, TRL_EFORMAT, "the tied state of state %" PRId32 " should be here", s)
                   : add_senone(r, number);
    }
    return code < 0 ? code : add_phone(r, phone);
}

static int read_text(reader *r)
{
    int64_t counts[6] = {0};
    int code = read_counts(r, counts);
    if (code < 0)
        return code;
    int64_t phones = counts[0] + counts[1];
    if (counts[0] < 1 || counts[1] < 0 || phones > INT32_MAX || counts[2] % phones != 0)
        return FAIL(r, TRL_EUNSUPPORTED, "phones of different numbers of states");
    code = check_sizes(r, counts[0], phones, counts[2] / phones - 1, counts[3], counts[5]);
    while (code == 0 && r->m->phones < phones) {
        char *line = next_line(r, &code);
        if (code == 0)
            code = line ? read_phone_line(r, line, r->m->phones < counts[0])
                        : FAIL(r, TRL_EFORMAT, "the file ends after %" PRId32 " of %" PRId64 " phones", r->m->phones,
                               phones);
    }
    return code;
}

/* ---- Binary ---- */

enum { BASES, PHONES, STATES, BASE_SENONES, SENONES, MATRICES, SEQUENCES, CONTEXT, TREE, SILENCE, NUMBERS };

static uint32_t get32(const reader *r, const unsigned char *bytes)
{
    return r->big ? trl__be32(bytes) : trl__le32(bytes);
}

static int take(reader *r, uint64_t size, const unsigned char **bytes)
{
    return trl__source_take(r->source, size, bytes, r->err);
}

static int read_header(reader *r, int32_t *numbers)
{
    const unsigned char *bytes;
    int code = take(r, 12, &bytes);
    if (code < 0)
        return code;
    r->big = bytes[0] == 'F';
    uint32_t version = get32(r, bytes + 4), text = get32(r, bytes + 8);
    if (version != 1)
        return FAIL(r, TRL_EUNSUPPORTED, "a model definition of version %" PRIu32 ", not 1", version);
    code = take(r, text, &bytes);
    if (code == 0)
        code = take(r, (uint64_t)4 * NUMBERS, &bytes);
    for (int i = 0; code == 0 && i < NUMBERS; i++)
        numbers[i] = (int32_t)get32(r, bytes + (size_t)4 * i);
    if (code == 0 && numbers[STATES] == 0)
        return FAIL(r, TRL_EUNSUPPORTED, "phones of different numbers of states");
    if (code == 0 && (numbers[SEQUENCES] < 1 || numbers[TREE] < 0))
        return FAIL(r, TRL_ECORRUPT, "the numbers at the beginning are impossible");
    return code < 0
               ? code
               : check_sizes(r, numbers[BASES], numbers[PHONES], numbers[STATES], numbers[SENONES], numbers[MATRICES]);
}

/* Names end with a NUL, and all of them at a multiple of 4. */
static int read_names(reader *r, int32_t count)
{
    char name[256];
    size_t all = 0;
    for (int32_t i = 0; i < count; i++) {
        size_t length = 0;
        int byte;
        while ((byte = trl__source_get(r->source, r->err)) > 0 && length < sizeof name)
            name[length++] = (char)byte;
        if (byte != 0)
            return FAIL(r, TRL_ECORRUPT, "the name of phone %" PRId32 " has no end", i);
        all += length + 1;
        long number = trl__strings_add(&r->m->names, name, length);
        if (number != i)
            return number < 0 ? trl__fail_memory(r->err)
                              : FAIL(r, TRL_ECORRUPT, "the name of phone %" PRId32 " is another's", i);
    }
    const unsigned char *padding;
    return take(r, (4 - all % 4) % 4, &padding);
}

static int read_phone(reader *r, const unsigned char *bytes, int32_t bases, int32_t sequences)
{
    uint32_t sequence = get32(r, bytes), matrix = get32(r, bytes + 4);
    int is_base = r->m->phones < bases;
    trl__sphinx_phone phone = {r->m->phones, -1, -1, 0, (int32_t)matrix, 0};
    int code = check_matrix(r, matrix);
    if (code < 0)
        return code;
    if (sequence >= (uint32_t)sequences)
        return FAIL(r, TRL_ECORRUPT, "phone %" PRId32 " has no states", r->m->phones);
    phone.senones = (int32_t)sequence * r->m->states;
    if (is_base) {
        r->m->filler[r->m->phones] = bytes[8] != 0;
        return add_phone(r, phone);
    }
    phone.place = bytes[8];
    phone.base = bytes[9];
    phone.left = bytes[10];
    phone.right = bytes[11];
    if (phone.place >= TRL__SPHINX_PLACES || phone.base >= bases || phone.left >= bases || phone.right >= bases)
        return FAIL(r, TRL_ECORRUPT, "triphone %" PRId32 " is of phones or a place that do not exist", r->m->phones);
    return add_phone(r, phone);
}

static int read_sequences(reader *r, int32_t sequences)
{
    const unsigned char *bytes;
    int code = take(r, 4, &bytes);
    if (code < 0)
        return code;
    uint64_t count = (uint64_t)sequences * (uint64_t)r->m->states;
    if (get32(r, bytes) != count || count > INT32_MAX)
        return FAIL(r, TRL_ECORRUPT, "%" PRIu32 " tied states in %" PRId32 " sequences", get32(r, bytes), sequences);
    code = take(r, 2 * count, &bytes);
    for (uint64_t i = 0; code == 0 && i < count; i++)
        code = add_senone(r, r->big ? trl__be16(bytes + 2 * i) : trl__le16(bytes + 2 * i));
    return code;
}

static int read_binary(reader *r)
{
    int32_t numbers[NUMBERS] = {0};
    const unsigned char *bytes = NULL;
    int code = read_header(r, numbers);
    if (code == 0)
        code = read_names(r, numbers[BASES]);
    if (code == 0)
        code = take(r, (uint64_t)8 * (uint64_t)numbers[TREE], &bytes);
    if (code == 0)
        code = take(r, (uint64_t)12 * (uint64_t)numbers[PHONES], &bytes);
    for (int32_t i = 0; code == 0 && i < numbers[PHONES]; i++)
        code = read_phone(r, bytes + (size_t)12 * (size_t)i, numbers[BASES], numbers[SEQUENCES]);
    return code < 0 ? code : read_sequences(r, numbers[SEQUENCES]);
}

int trl__sphinx_mdef_read(trl__source *source, trl__sphinx_mdef *out, trl_error *err)
{
    reader r = {.source = source, .m = out, .err = err};
    *out = (trl__sphinx_mdef){0};
    int little = trl__source_starts(source, "BMDF", 4, err), big = trl__source_starts(source, "FDMB", 4, err);
    int code = little < 0 ? little : big < 0 ? big : little || big ? read_binary(&r) : read_text(&r);
    if (code == 0)
        out->silence = (int32_t)trl__strings_find(&out->names, "SIL", 3);
    if (code < 0)
        trl__sphinx_mdef_free(out);
    return code;
}

void trl__sphinx_mdef_free(trl__sphinx_mdef *m)
{
    trl__strings_free(&m->names);
    trl__free(m->filler);
    trl__free(m->phone);
    trl__free(m->senone);
    *m = (trl__sphinx_mdef){0};
}
