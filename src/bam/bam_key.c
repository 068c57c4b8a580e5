#include "base/bytes.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/bam_key.h>

#define TRIPHONE 8 /* bytes of a key that all M-phones of a chain share */

/* ---- in order of proximity ---- */

/* Place `i` of a side in the key; side 0 is the left one. */
static size_t place(int i, int side)
{
    return 4 + 4 * (size_t)i + 2 * (size_t)side;
}

static int side_length(int order, const unsigned char *key, int side)
{
    int length = 0;
    while (length < order && trl__be16(key + place(length, side)) != TRL_BAM_MISSING)
        length++;
    return length;
}

void trl_bam_key_write(const trl_bam_mphone *m, int order, unsigned char *key)
{
    trl__put_be16(key, (uint16_t)m->phone);
    trl__put_be16(key + 2, (uint16_t)m->state);
    for (int i = 0; i < order; i++) {
        trl__put_be16(key + place(i, 0), i < m->left ? m->left_symbol[i] : TRL_BAM_MISSING);
        trl__put_be16(key + place(i, 1), i < m->right ? m->right_symbol[i] : TRL_BAM_MISSING);
    }
}

static int read_side(const trl_bam_phones *phones, int order, const unsigned char *key, int side, int32_t *length,
                     uint16_t *symbols, trl_error *err)
{
    *length = side_length(order, key, side);
    for (int i = 0; i < order; i++) {
        uint16_t symbol = trl__be16(key + place(i, side));
        if (i >= *length && symbol != TRL_BAM_MISSING)
            return trl__fail(err, TRL_ECORRUPT, "an M-phone's key has a gap in its context, place %d on the %s", i + 1,
                             side ? "right" : "left");
        if (i < *length && phones && symbol >= trl_bam_phones_symbols(phones))
            return trl__fail(err, TRL_ECORRUPT, "an M-phone's key has symbol %d in its context; there are %" PRId32,
                             symbol, trl_bam_phones_symbols(phones));
        symbols[i] = symbol;
    }
    return 0;
}

int trl_bam_key_read(const trl_bam_phones *phones, int order, const unsigned char *key, trl_bam_mphone *m,
                     trl_error *err)
{
    m->phone = trl__be16(key);
    m->state = trl__be16(key + 2);
    if (phones && m->phone >= trl_bam_phones_count(phones))
        return trl__fail(err, TRL_ECORRUPT, "an M-phone's key has phone %" PRId32 "; there are %" PRId32, m->phone,
                         trl_bam_phones_count(phones));
    int code = read_side(phones, order, key, 0, &m->left, m->left_symbol, err);
    return code < 0 ? code : read_side(phones, order, key, 1, &m->right, m->right_symbol, err);
}

void trl_bam_key_context(int order, const unsigned char *key, int *left, int *right)
{
    *left = side_length(order, key, 0);
    *right = side_length(order, key, 1);
}

int trl_bam_key_order(int order, const unsigned char *key)
{
    int left, right;
    trl_bam_key_context(order, key, &left, &right);
    return left > right ? left : right;
}

int trl_bam_key_back_off(int order, unsigned char *key)
{
    int left, right;
    trl_bam_key_context(order, key, &left, &right);
    if (left <= 1 && right <= 1)
        return 0;
    if (left >= right)
        trl__put_be16(key + place(left - 1, 0), TRL_BAM_MISSING);
    if (right >= left)
        trl__put_be16(key + place(right - 1, 1), TRL_BAM_MISSING);
    return 1;
}

uint32_t trl_bam_key_shard(const unsigned char *key, uint32_t shards)
{
    return (uint32_t)(trl__hash((const char *)key, TRIPHONE) % shards);
}

/* ---- text ---- */

typedef struct output {
    char *text;
    size_t size, length;
} output;

static void put(output *out, const char *piece)
{
    size_t length = strlen(piece);
    for (size_t i = 0; i < length && out->length + i + 1 < out->size; i++)
        out->text[out->length + i] = piece[i];
    out->length += length;
}

static int is_special(const char *name)
{
    return name[0] == '\\' || strcmp(name, "#") == 0 || strcmp(name, "___") == 0;
}

static void put_phone(output *out, const trl_bam_phones *phones, int32_t phone)
{
    const char *name = trl_bam_phones_name(phones, phone);
    put(out, is_special(name) ? "\\" : "");
    put(out, name);
}

static void put_symbol(output *out, const trl_bam_phones *phones, int32_t symbol)
{
    put(out, " ");
    if (symbol == trl_bam_phones_boundary(phones))
        put(out, "#");
    else
        put_phone(out, phones, symbol);
}

size_t trl_bam_key_format(const trl_bam_phones *phones, int order, const unsigned char *key, char *text, size_t size)
{
    output out = {text, size, 0};
    char state[16];
    int left, right;
    trl_bam_key_context(order, key, &left, &right);
    put_phone(&out, phones, trl__be16(key));
    snprintf(state, sizeof state, "_%d /", trl__be16(key + 2) + 1);
    put(&out, state);
    for (int i = left; i-- > 0;)
        put_symbol(&out, phones, trl__be16(key + place(i, 0)));
    put(&out, " ___");
    for (int i = 0; i < right; i++)
        put_symbol(&out, phones, trl__be16(key + place(i, 1)));
    if (size > 0)
        text[out.length < size ? out.length : size - 1] = '\0';
    return out.length;
}

/* Phone and state, "ih_1". */
static int parse_centre(const trl_bam_phones *phones, char *field, trl_bam_mphone *m, trl_error *err)
{
    char *mark = strrchr(field, '_'), *digits = mark ? mark + 1 : field + strlen(field);
    int32_t state = 0;
    for (; *digits >= '0' && *digits <= '9' && state <= TRL_BAM_STATES_MOST; digits++)
        state = 10 * state + (*digits - '0');
    if (!mark || *digits || state < 1 || state > TRL_BAM_STATES_MOST)
        return trl__fail(err, TRL_EFORMAT, "'%s' is no phone with a state, as ih_1 is", field);
    *mark = '\0';
    m->state = state - 1;
    m->phone = trl_bam_phones_find(phones, field + (field[0] == '\\'));
    return m->phone < 0 ? trl__fail(err, TRL_ENOENT, "there is no phone '%s'", field) : 0;
}

static int parse_symbol(const trl_bam_phones *phones, const char *field, uint16_t *symbol, trl_error *err)
{
    int32_t found = strcmp(field, "#") == 0 ? trl_bam_phones_boundary(phones)
                                            : trl_bam_phones_find(phones, field + (field[0] == '\\'));
    if (found < 0)
        return trl__fail(
            err, TRL_ENOENT,
            strcmp(field, "#") == 0 ? "these M-phones have no word boundary '%s'" : "there is no phone '%s'", field);
    *symbol = (uint16_t)found;
    return 0;
}

/* The next piece between blanks, cut off in place; NULL: none. */
static char *next_piece(char **rest)
{
    char *start = *rest + strspn(*rest, " \t"), *end = start + strcspn(start, " \t");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return *start ? start : NULL;
}

/* Everything up to ___ is the left side, the farthest first; it is turned around at the end. */
static int parse_context(const trl_bam_phones *phones, int order, char *rest, trl_bam_mphone *m, trl_error *err)
{
    int centre = 0;
    for (char *field; (field = next_piece(&rest));) {
        int32_t *count = centre ? &m->right : &m->left;
        if (strcmp(field, "___") == 0 && !centre++)
            continue;
        if (strcmp(field, "___") == 0)
            return trl__fail(err, TRL_EFORMAT, "___ stands for the central phone, and there is one only");
        if (*count == order)
            return trl__fail(err, TRL_EFORMAT, "more than %d symbols on one side of ___", order);
        int code = parse_symbol(phones, field, (centre ? m->right_symbol : m->left_symbol) + (*count)++, err);
        if (code < 0)
            return code;
    }
    if (!centre)
        return trl__fail(err, TRL_EFORMAT, "___ is missing, which stands for the central phone");
    for (int i = 0; i < m->left / 2; i++) {
        uint16_t kept = m->left_symbol[i];
        m->left_symbol[i] = m->left_symbol[m->left - 1 - i];
        m->left_symbol[m->left - 1 - i] = kept;
    }
    return 0;
}

int trl_bam_key_parse(const trl_bam_phones *phones, int order, const char *text, unsigned char *key, trl_error *err)
{
    trl_bam_mphone m = {0};
    char *copy = trl__strdup(text), *rest = copy;
    if (!copy)
        return trl__fail_memory(err);
    char *centre = next_piece(&rest), *slash = centre ? next_piece(&rest) : NULL;
    int code = 0;
    if (!slash || strcmp(slash, "/") != 0)
        code = trl__fail(err, TRL_EFORMAT, "'%s' is no M-phone; one is written 'ih_1 / ae k sh ___ n sil'", text);
    if (code == 0)
        code = parse_centre(phones, centre, &m, err);
    if (code == 0)
        code = parse_context(phones, order, rest, &m, err);
    if (code == 0)
        trl_bam_key_write(&m, order, key);
    trl__free(copy);
    return code;
}
