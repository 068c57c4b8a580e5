#include "bam/bam_phones.h"
#include "base/fail.h"
#include "base/text_file.h"
#include "model/model_data.h"

#include <string.h>

/* A unit's name without its place in the word, where the model has such places. */
static size_t phone_length(const trl_model *model, int32_t unit)
{
    const char *name = model->units.texts[unit];
    size_t length = strlen(name);
    int placed = model->word_positions && model->unit_kind[unit] == TRL_UNIT_PHONE && length > 2 &&
                 name[length - 2] == '_' && strchr("BIES", name[length - 1]);
    return placed ? length - 2 : length;
}

static int finish(trl_bam_phones *phones, int word_boundaries, trl_bam_phones **out, trl_error *err)
{
    phones->boundary = word_boundaries ? (int32_t)phones->names.count : -1;
    if (phones->names.count + 1 > TRL_BAM_MISSING)
        return trl__fail(err, TRL_ELIMIT, "%zu phones; M-phones can be made of %d at most", phones->names.count,
                         TRL_BAM_MISSING - 1);
    *out = phones;
    return 0;
}

int trl_bam_phones_of_model(const trl_model *model, int word_boundaries, trl_bam_phones **out, trl_error *err)
{
    trl_bam_phones *phones = trl__alloc_zero(1, sizeof *phones);
    *out = NULL;
    int code = phones ? 0 : trl__fail_memory(err);
    for (int32_t u = 0; code == 0 && u < trl_model_units(model); u++)
        if (trl__strings_add(&phones->names, model->units.texts[u], phone_length(model, u)) < 0)
            code = trl__fail_memory(err);
    if (code == 0)
        code = finish(phones, word_boundaries, out, err);
    if (code < 0)
        trl_bam_phones_destroy(phones);
    return code;
}

static int add_line(trl_bam_phones *phones, const char *line, size_t length, trl_error *err)
{
    size_t before = phones->names.count;
    for (size_t i = 0; i < length; i++)
        if (trl__is_space(line[i]))
            return trl__fail(err, TRL_EFORMAT, "phone %zu has a blank in its name", before);
    if (length == 0 || trl__utf8_check(line, length) < length)
        return trl__fail(err, TRL_EFORMAT, "phone %zu has no name that is text", before);
    if (trl__strings_add(&phones->names, line, length) < 0)
        return trl__fail_memory(err);
    if (phones->names.count == before)
        return trl__fail(err, TRL_EFORMAT, "phone %zu is there twice", before);
    return 0;
}

int trl_bam_phones_of_text(const char *text, int word_boundaries, trl_bam_phones **out, trl_error *err)
{
    trl_bam_phones *phones = trl__alloc_zero(1, sizeof *phones);
    *out = NULL;
    int code = phones ? 0 : trl__fail_memory(err);
    while (code == 0 && *text) {
        size_t length = strcspn(text, "\n");
        code = add_line(phones, text, length, err);
        text += length + (text[length] == '\n');
    }
    if (code == 0)
        code = finish(phones, word_boundaries, out, err);
    if (code < 0)
        trl_bam_phones_destroy(phones);
    return code;
}

void trl_bam_phones_destroy(trl_bam_phones *phones)
{
    if (!phones)
        return;
    trl__strings_free(&phones->names);
    trl__free(phones);
}

int32_t trl_bam_phones_count(const trl_bam_phones *phones)
{
    return (int32_t)phones->names.count;
}

int32_t trl_bam_phones_symbols(const trl_bam_phones *phones)
{
    return (int32_t)phones->names.count + (phones->boundary >= 0);
}

int32_t trl_bam_phones_boundary(const trl_bam_phones *phones)
{
    return phones->boundary;
}

const char *trl_bam_phones_name(const trl_bam_phones *phones, int32_t phone)
{
    return phones->names.texts[phone];
}

int32_t trl_bam_phones_find(const trl_bam_phones *phones, const char *name)
{
    return (int32_t)trl__strings_find(&phones->names, name, strlen(name));
}

int trl__bam_unit_symbols(const trl_bam_phones *phones, const trl_model *model, uint16_t **out, trl_error *err)
{
    int32_t units = trl_model_units(model);
    *out = trl__alloc((size_t)units, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    for (int32_t u = 0; u < units; u++) {
        const char *name = model->units.texts[u];
        long symbol = trl__strings_find(&phones->names, name, phone_length(model, u));
        if (symbol < 0) {
            trl__free(*out);
            *out = NULL;
            return trl__fail(err, TRL_EINVAL, "the model has a unit %s that the M-phones lack: it is another model",
                             name);
        }
        (*out)[u] = (uint16_t)symbol;
    }
    return 0;
}

char *trl__bam_phones_text(const trl_bam_phones *phones)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < phones->names.count; i++)
        size += strlen(phones->names.texts[i]) + 1;
    char *text = trl__alloc(size, 1);
    for (size_t i = 0; text && i < phones->names.count; i++) {
        size_t length = strlen(phones->names.texts[i]);
        memcpy(text + used, phones->names.texts[i], length);
        used += length;
        text[used++] = '\n';
    }
    if (text)
        text[used] = '\0';
    return text;
}
