#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <string.h>
#include <trellis/transduce.h>

/* Labels of all lines lie together; while reading, inputs have offsets in place of addresses. */
struct trl_transduce_text {
    int32_t *labels;
    size_t label_count, label_capacity;
    struct place {
        size_t input, inputs, output, outputs;
    } * places;
    size_t place_capacity;
    trl_transduce_input *inputs;
    size_t count;
    char *unknown; /* the first name that its table lacks */
};

typedef struct reading {
    trl_transduce_text *text;
    const char *name; /* of the file, in messages */
    int64_t line;
} reading;

static int keep_unknown(trl_transduce_text *text, const char *word, trl_error *err)
{
    if (!text->unknown)
        text->unknown = trl__strdup(word);
    return text->unknown ? 0 : trl__fail_memory(err);
}

static int add_word(reading *r, const trl_symbols *symbols, const char *word, trl_error *err)
{
    trl_transduce_text *text = r->text;
    int64_t label;
    if (symbols) {
        label = trl_symbols_find(symbols, word);
        if (label == TRL_NO_LABEL) {
            label = TRL_UNKNOWN_LABEL;
            if (keep_unknown(text, word, err) < 0)
                return TRL_ENOMEM;
        }
    } else if (trl__parse_int(word, &label) < 0 || label < 0 || label > INT32_MAX) {
        return trl__fail_line(err, TRL_EFORMAT, r->name, r->line,
                              "\"%s\" is no label; words need a symbol table, labels are 0 to 2^31 - 1", word);
    }
    if (TRL_GROW(text->labels, text->label_capacity, text->label_count + 1) < 0)
        return trl__fail_memory(err);
    text->labels[text->label_count++] = (int32_t)label;
    return 0;
}

static int add_words(reading *r, const trl_symbols *symbols, char *words, size_t *first, size_t *count, trl_error *err)
{
    int code = 0;
    *first = r->text->label_count;
    for (char *word; code == 0 && (word = trl__next_field(&words));)
        code = add_word(r, symbols, word, err);
    *count = r->text->label_count - *first;
    return code;
}

static int add_line(reading *r, const trl_symbols *input, const trl_symbols *output, int pairs, char *line,
                    size_t length, trl_error *err)
{
    trl_transduce_text *text = r->text;
    if (memchr(line, '\0', length))
        return trl__fail_line(err, TRL_EFORMAT, r->name, r->line,
                              "a NUL in the line: this is no text; machines are read with --lattices");
    char *tab = pairs ? strchr(line, '\t') : NULL;
    if (TRL_GROW(text->places, text->place_capacity, text->count + 1) < 0)
        return trl__fail_memory(err);
    struct place *place = &text->places[text->count++];
    *place = (struct place){0};
    if (pairs && !tab)
        return trl__fail_line(err, TRL_EFORMAT, r->name, r->line, "a pair has a tab between input and output");
    if (tab)
        *tab = '\0';
    int code = add_words(r, input, line, &place->input, &place->inputs, err);
    if (code == 0 && tab)
        code = add_words(r, output, tab + 1, &place->output, &place->outputs, err);
    return code;
}

/* An empty output is an address, too: it differs from none. */
static int make_inputs(trl_transduce_text *text, int pairs, trl_error *err)
{
    text->inputs = trl__alloc_zero(text->count + 1, sizeof *text->inputs);
    if (!text->inputs || TRL_GROW(text->labels, text->label_capacity, text->label_count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < text->count; i++) {
        const struct place *p = &text->places[i];
        text->inputs[i] = (trl_transduce_input){.labels = text->labels + p->input,
                                                .count = p->inputs,
                                                .target = pairs ? text->labels + p->output : NULL,
                                                .target_count = p->outputs};
    }
    return 0;
}

int trl_transduce_text_read(const char *path, const trl_symbols *input, const trl_symbols *output, int pairs,
                            trl_transduce_text **out, trl_error *err)
{
    trl__text file;
    char *line;
    size_t length;
    *out = NULL;
    int code = trl__text_read(path, &file, err);
    if (code < 0)
        return code;
    trl_transduce_text *text = trl__alloc_zero(1, sizeof *text);
    code = text ? 0 : trl__fail_memory(err);
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    while (code == 0 && trl__text_line(&file, &line, &length))
        code = add_line(&(reading){text, name, file.line}, input, output, pairs, line, length, err);
    if (code == 0)
        code = make_inputs(text, pairs, err);
    trl__text_free(&file);
    if (code < 0)
        trl_transduce_text_destroy(text);
    else
        *out = text;
    return code;
}

void trl_transduce_text_destroy(trl_transduce_text *text)
{
    if (!text)
        return;
    trl__free(text->labels);
    trl__free(text->places);
    trl__free(text->inputs);
    trl__free(text->unknown);
    trl__free(text);
}

const trl_transduce_input *trl_transduce_text_inputs(const trl_transduce_text *text, size_t *count)
{
    *count = text->count;
    return text->inputs;
}

const char *trl_transduce_text_unknown(const trl_transduce_text *text)
{
    return text->unknown;
}
