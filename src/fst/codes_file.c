/* Tables of encodings, as OpenFst's fstencode stores them:
 *
 *     int32 magic, string arc type, uint8 flags (1 labels, 2 weights, 4 input symbols, 8 output symbols), int64 count,
 *     count times: int32 input label, output label, weight; then the symbol tables
 */
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fst/codes_data.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <string.h>

#define MAGIC "\x4A\x6D\xD9\x7E"
enum { HAS_ISYMBOLS = 4, HAS_OSYMBOLS = 8 };
#define LONGEST_TYPE 256

static size_t weight_size(trl_semiring semiring)
{
    return semiring == TRL_LATTICE ? 8 : 4;
}

/* ---- Reading ---- */

static int read_code(trl__source *source, trl_fst_codes *codes, trl_error *err)
{
    const unsigned char *bytes;
    int code = trl__source_take(source, 8 + weight_size(codes->semiring), &bytes, err);
    if (code < 0)
        return code;
    int32_t key[4] = {(int32_t)trl__le32(bytes), (int32_t)trl__le32(bytes + 4), 0, 0};
    trl_weight weight = {trl__float_of_bits(trl__le32(bytes + 8)), 0};
    if (codes->semiring == TRL_LATTICE)
        weight.second = trl__float_of_bits(trl__le32(bytes + 12));
    if (key[0] < -1 || key[1] < -1 || (key[0] < 0) != (key[1] < 0) || !trl_weight_is_member(codes->semiring, weight))
        return trl__source_fail(source, err, TRL_ECORRUPT, "code %zu is damaged", codes->table.count + 1);
    if (codes->what & TRL_ENCODE_WEIGHTS)
        memcpy(key + 2, &weight, sizeof weight);
    int64_t before = (int64_t)codes->table.count, tuple = trl__tuples_add(&codes->table, key);
    if (tuple < 0)
        return trl__fail_memory(err);
    return tuple < before ? trl__source_fail(source, err, TRL_ECORRUPT, "code %" PRId64 " is there twice", before + 1)
                          : 0;
}

static int read_codes(trl__source *source, int flags, trl_semiring semiring, uint64_t count, trl_fst_codes **out,
                      trl_error *err)
{
    int code = trl_fst_codes_create(flags & (TRL_ENCODE_LABELS | TRL_ENCODE_WEIGHTS), out, err);
    if (code < 0)
        return code;
    (*out)->in_use = 1;
    (*out)->semiring = semiring;
    for (uint64_t i = 0; code == 0 && i < count; i++)
        code = read_code(source, *out, err);
    if (code == 0 && (flags & HAS_ISYMBOLS))
        code = trl__symbols_read_binary(source, &(*out)->isymbols, err);
    if (code == 0 && (flags & HAS_OSYMBOLS))
        code = trl__symbols_read_binary(source, &(*out)->osymbols, err);
    if (code < 0) {
        trl_fst_codes_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__codes_read(trl__source *source, trl_fst_codes **out, trl_error *err)
{
    const unsigned char *bytes;
    char *type = NULL;
    *out = NULL;
    source->line = 0; /* places are bytes */
    int code = trl__source_take(source, 4, &bytes, err);
    if (code == 0 && memcmp(bytes, MAGIC, 4) != 0)
        return trl__source_fail(source, err, TRL_EFORMAT, "this is no table of codes, as fst encode writes them");
    if (code == 0)
        code = trl__read_string(source, LONGEST_TYPE, &type, err);
    int semiring = code == 0 ? trl__arc_type_find(type) : -1;
    if (code == 0 && semiring < 0)
        code = trl__source_fail(source, err, TRL_EUNSUPPORTED, "codes of arcs of type \"%s\"", type);
    if (code == 0)
        code = trl__source_take(source, 9, &bytes, err);
    if (code == 0 && (!(bytes[0] & (TRL_ENCODE_LABELS | TRL_ENCODE_WEIGHTS)) || bytes[0] > 15))
        code = trl__source_fail(source, err, TRL_ECORRUPT, "the flags of the table are %d", bytes[0]);
    if (code == 0)
        code = read_codes(source, bytes[0], (trl_semiring)semiring, trl__le64(bytes + 1), out, err);
    trl__free(type);
    return code;
}

int trl_fst_codes_read(const char *path, trl_fst_codes **out, trl_error *err)
{
    trl__source source;
    *out = NULL;
    int code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    code = trl__codes_read(&source, out, err);
    trl__source_close(&source);
    return code;
}

/* ---- Writing ---- */

static int write_codes(const trl_fst_codes *codes, trl_file *file, trl_error *err)
{
    trl_weight one = trl_weight_one(codes->semiring);
    int code = 0;
    for (size_t i = 0; code == 0 && i < codes->table.count; i++) {
        unsigned char bytes[16];
        int32_t key[4];
        memcpy(key, trl__tuples_get(&codes->table, (int64_t)i), sizeof key);
        if (!(codes->what & TRL_ENCODE_WEIGHTS))
            memcpy(key + 2, &one, sizeof one);
        for (int k = 0; k < 4; k++)
            trl__put_le32(bytes + 4 * k, (uint32_t)key[k]);
        code = trl_file_write(file, bytes, 8 + weight_size(codes->semiring), err);
    }
    return code;
}

static int write_all(const trl_fst_codes *codes, trl_file *file, trl_error *err)
{
    unsigned char head[9] = {
        (unsigned char)(codes->what | (codes->isymbols ? HAS_ISYMBOLS : 0) | (codes->osymbols ? HAS_OSYMBOLS : 0))};
    trl__put_le32(head + 1, (uint32_t)codes->table.count);
    int code = trl_file_write(file, MAGIC, 4, err);
    if (code == 0)
        code = trl__write_string(file, trl__arc_type(codes->semiring), err);
    if (code == 0)
        code = trl_file_write(file, head, sizeof head, err);
    if (code == 0)
        code = write_codes(codes, file, err);
    if (code == 0 && codes->isymbols)
        code = trl__symbols_write_binary(codes->isymbols, file, err);
    if (code == 0 && codes->osymbols)
        code = trl__symbols_write_binary(codes->osymbols, file, err);
    return code;
}

int trl_fst_codes_write(const trl_fst_codes *codes, const char *path, trl_error *err)
{
    trl_file *file;
    if (!codes->in_use)
        return trl__fail(err, TRL_EINVAL, "%s: the table has encoded nothing yet, so its semiring is not known", path);
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    code = write_all(codes, file, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}
