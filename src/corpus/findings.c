/* The list of findings. File names are kept once, all other strings in an arena: a million findings are a few large
 * blocks. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <stdio.h>
#include <string.h>

#define MESSAGE_SIZE 1001

struct trl_findings {
    trl_finding *list;
    size_t count, capacity;
    trl__strings files;
    trl__arena arena;
};

static const struct {
    const char *name;
    int fatal;
    const char *advice;
} kinds[] = {
#define KIND(constant, name, fatal, advice) {name, fatal, advice},
    TRL_FINDING_LIST(KIND)
#undef KIND
};

static int is_kind(trl_finding_kind kind)
{
    return (unsigned)kind < TRL_FINDING_KINDS;
}

const char *trl_finding_name(trl_finding_kind kind)
{
    return is_kind(kind) ? kinds[kind].name : "unknown";
}

const char *trl_finding_advice(trl_finding_kind kind)
{
    return is_kind(kind) ? kinds[kind].advice : "";
}

int trl_finding_is_fatal(trl_finding_kind kind)
{
    return is_kind(kind) && kinds[kind].fatal;
}

int trl_findings_create(trl_findings **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    return *out ? 0 : trl__fail_memory(err);
}

void trl_findings_destroy(trl_findings *findings)
{
    if (!findings)
        return;
    trl__strings_free(&findings->files);
    trl__arena_free(&findings->arena);
    trl__free(findings->list);
    trl__free(findings);
}

size_t trl_findings_count(const trl_findings *findings)
{
    return findings->count;
}

const trl_finding *trl_findings_get(const trl_findings *findings, size_t index)
{
    return index < findings->count ? &findings->list[index] : NULL;
}

/* Writes the text with U+FFFD for what can't be shown, where out is not NULL. Returns its length. */
static size_t clean(const char *text, char *out)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t length = strlen(text), used = 0, valid = trl__utf8_check(text, length);
    for (size_t i = 0; i < length; i++) {
        if (i > valid)
            valid = i + trl__utf8_check(text + i, length - i);
        int shown = i < valid && (unsigned char)text[i] >= 0x20 && text[i] != 0x7F;
        if (out)
            memcpy(out + used, shown ? text + i : replacement, shown ? 1 : 3);
        used += shown ? 1 : 3;
    }
    return used;
}

static char *clean_copy(trl__arena *arena, const char *text)
{
    size_t length = clean(text, NULL);
    char *copy = trl__arena_alloc(arena, length + 1);
    if (copy) {
        clean(text, copy);
        copy[length] = '\0';
    }
    return copy;
}

/* The cleaned name, one copy for all findings of a file. */
static const char *file_name(trl_findings *findings, const char *file)
{
    long number = trl__strings_find(&findings->files, file, strlen(file));
    if (number < 0) {
        const char *name = clean_copy(&findings->arena, file);
        number = name ? trl__strings_add(&findings->files, name, strlen(name)) : -1;
    }
    return number < 0 ? NULL : findings->files.texts[number];
}

int trl__findings_add_list(trl_findings *findings, trl_finding_kind kind, const char *file, int64_t line,
                           const char *utterance, trl_error *err, const char *format, va_list arguments)
{
    char message[MESSAGE_SIZE];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message[0] = '\0';
    if (TRL_GROW(findings->list, findings->capacity, findings->count + 1) < 0)
        return trl__fail_memory(err);
    trl_finding f = {kind, file_name(findings, file), line, utterance, clean_copy(&findings->arena, message), NULL, 0};
    if (utterance)
        f.utterance = clean_copy(&findings->arena, utterance);
    if (!f.file || !f.message || (utterance && !f.utterance))
        return trl__fail_memory(err);
    findings->list[findings->count++] = f;
    return 0;
}

int trl__findings_set_word(trl_findings *findings, const char *word, size_t count, trl_error *err)
{
    trl_finding *f = &findings->list[findings->count - 1];
    f->word = clean_copy(&findings->arena, word);
    f->count = count;
    return f->word ? 0 : trl__fail_memory(err);
}

int trl_findings_add(trl_findings *findings, trl_finding_kind kind, const char *file, int64_t line,
                     const char *utterance, trl_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int code = trl__findings_add_list(findings, kind, file, line, utterance, err, format, arguments);
    va_end(arguments);
    return code;
}
