/* Symbol tables in files: OpenFst's text, a name and a label per line, and its binary form, which stands in binary
 * machines too:
 *
 *     int32 magic, string title, int64 next label, int64 count, then count times: string name, int64 label
 */
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <string.h>

#define LONGEST_NAME ((size_t)1 << 24) /* bytes; longer ones are taken for damage */

/* ---- Binary ---- */

int trl__read_string(trl__source *source, size_t most, char **out, trl_error *err)
{
    const unsigned char *bytes;
    *out = NULL;
    int code = trl__source_take(source, 4, &bytes, err);
    if (code < 0)
        return code;
    uint32_t length = trl__le32(bytes);
    if (length > most)
        return trl__source_fail(source, err, TRL_ECORRUPT, "a string of %" PRIu32 " bytes; the file is damaged",
                                length);
    code = trl__source_take(source, length, &bytes, err);
    if (code < 0)
        return code;
    if (memchr(bytes, '\0', length))
        return trl__source_fail(source, err, TRL_ECORRUPT, "a NUL in a string; the file is damaged");
    *out = trl__alloc((size_t)length + 1, 1);
    if (!*out)
        return trl__fail_memory(err);
    memcpy(*out, bytes, length);
    (*out)[length] = '\0';
    return 0;
}

int trl__write_string(trl_file *file, const char *text, trl_error *err)
{
    unsigned char length[4];
    trl__put_le32(length, (uint32_t)strlen(text));
    int code = trl_file_write(file, length, sizeof length, err);
    return code < 0 ? code : trl_file_write(file, text, strlen(text), err);
}

static int add_binary_entry(trl__source *source, trl_symbols *symbols, trl_error *err)
{
    const unsigned char *bytes;
    char *name;
    trl_error reason;
    int code = trl__read_string(source, LONGEST_NAME, &name, err);
    if (code == 0)
        code = trl__source_take(source, 8, &bytes, err);
    if (code == 0) {
        code = trl_symbols_add(symbols, name, (int64_t)trl__le64(bytes), &reason);
        if (code < 0)
            trl__source_fail(source, err, code = code == TRL_ENOMEM ? code : TRL_EFORMAT, "%s", reason.text);
    }
    trl__free(name);
    return code;
}

static int read_entries(trl__source *source, const char *title, uint64_t count, trl_symbols **out, trl_error *err)
{
    int code = trl_symbols_create(title, out, err);
    for (uint64_t i = 0; code == 0 && i < count; i++)
        code = add_binary_entry(source, *out, err);
    if (code < 0) {
        trl_symbols_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__symbols_read_binary(trl__source *source, trl_symbols **out, trl_error *err)
{
    const unsigned char *bytes;
    char *title = NULL;
    *out = NULL;
    int code = trl__source_take(source, 4, &bytes, err);
    if (code == 0 && memcmp(bytes, TRL__SYMBOLS_MAGIC, 4) != 0)
        return trl__source_fail(source, err, TRL_ECORRUPT, "a symbol table should begin here, but does not");
    if (code == 0)
        code = trl__read_string(source, LONGEST_NAME, &title, err);
    if (code == 0)
        code = trl__source_take(source, 16, &bytes, err);
    if (code == 0)
        code = read_entries(source, title, trl__le64(bytes + 8), out, err);
    trl__free(title);
    return code;
}

static int write_numbers(trl_file *file, const int64_t *numbers, size_t count, trl_error *err)
{
    unsigned char bytes[16];
    for (size_t i = 0; i < count; i++) {
        trl__put_le32(bytes + 8 * i, (uint32_t)numbers[i]);
        trl__put_le32(bytes + 8 * i + 4, (uint32_t)((uint64_t)numbers[i] >> 32));
    }
    return trl_file_write(file, bytes, 8 * count, err);
}

int trl__symbols_write_binary(const trl_symbols *symbols, trl_file *file, trl_error *err)
{
    size_t count = trl_symbols_count(symbols);
    int64_t next = 0;
    for (size_t i = 0; i < count; i++)
        next = trl_symbols_label(symbols, i) >= next ? (int64_t)trl_symbols_label(symbols, i) + 1 : next;
    int code = trl_file_write(file, TRL__SYMBOLS_MAGIC, 4, err);
    if (code == 0)
        code = trl__write_string(file, trl_symbols_title(symbols), err);
    if (code == 0)
        code = write_numbers(file, (int64_t[]){next, (int64_t)count}, 2, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        int64_t label = trl_symbols_label(symbols, i);
        code = trl__write_string(file, trl_symbols_name(symbols, label), err);
        if (code == 0)
            code = write_numbers(file, &label, 1, err);
    }
    return code;
}

/* ---- Text ---- */

static int add_text_line(trl__source *source, trl_symbols *symbols, char *line, size_t length, trl_error *err)
{
    if (memchr(line, '\0', length))
        return trl__source_fail(source, err, TRL_EFORMAT, "a NUL in the line; is this a text file?");
    const char *name = trl__next_field(&line), *text = name ? trl__next_field(&line) : NULL;
    int64_t label;
    trl_error reason;
    if (!name)
        return 0;
    if (!text || trl__next_field(&line) || trl__parse_int(text, &label) < 0)
        return trl__source_fail(source, err, TRL_EFORMAT, "expected a name and a whole number");
    int code = trl_symbols_add(symbols, name, label, &reason);
    return code == 0 || code == TRL_ENOMEM ? code : trl__source_fail(source, err, TRL_EFORMAT, "%s", reason.text);
}

static int read_text(trl__source *source, trl_symbols **out, trl_error *err)
{
    char *line;
    size_t length;
    int code = trl_symbols_create(source->name, out, err), more = 1;
    while (code == 0 && (more = trl__source_line(source, &line, &length, err)) > 0)
        code = add_text_line(source, *out, line, length, err);
    code = more < 0 ? more : code;
    if (code < 0) {
        trl_symbols_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__symbols_read(trl__source *source, trl_symbols **out, trl_error *err)
{
    *out = NULL;
    int binary = trl__source_starts(source, TRL__SYMBOLS_MAGIC, 4, err);
    return binary < 0 ? binary : (binary ? trl__symbols_read_binary : read_text)(source, out, err);
}

int trl_symbols_read(const char *path, trl_symbols **out, trl_error *err)
{
    trl__source source;
    *out = NULL;
    int code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    code = trl__symbols_read(&source, out, err);
    trl__source_close(&source);
    return code;
}

int trl_symbols_write(const trl_symbols *symbols, const char *path, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < trl_symbols_count(symbols); i++) {
        int32_t label = trl_symbols_label(symbols, i);
        const char *name = trl_symbols_name(symbols, label);
        code = trl_file_write(file, name, strlen(name), err);
        if (code == 0)
            code = trl_file_print(file, err, "\t%" PRId32 "\n", label);
    }
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}
