/* Files of N-best lists. */
#include "base/fail.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "fst/fst_format.h"

#include <math.h>
#include <trellis/nbest_file.h>

struct trl_nbest_writer {
    trl_nbest_format format;
    trl_file *file;
};

int trl_nbest_writer_open(const char *path, trl_nbest_format format, trl_nbest_writer **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    (*out)->format = format;
    int code = trl_file_create(path, &(*out)->file, err);
    if (code < 0) {
        trl__free(*out);
        *out = NULL;
    }
    return code;
}

static int name_of(const trl_symbols *words, int32_t word, char number[16], const char **name, trl_error *err)
{
    *name = trl__label_text(words, word, number);
    return *name ? 0
                 : trl__fail(err, TRL_EINVAL, "the word %d has no name in the table %s", (int)word,
                             trl_symbols_title(words));
}

/* Four decimals say all that sums of 32-bit costs know. */
static void cost_text(double cost, char text[32])
{
    trl__format_double(round(cost * 1e4) / 1e4, text);
}

static int put_line(trl_file *file, const char *id, size_t rank, const trl_symbols *words, const trl_sentence *s,
                    trl_error *err)
{
    char graph[32], acoustic[32], number[16];
    const char *name;
    cost_text(s->graph, graph);
    cost_text(s->acoustic, acoustic);
    int code = trl_file_print(file, err, "%s\t%zu\t%s\t%s\t", id, rank, graph, acoustic);
    for (size_t i = 0; code == 0 && i < s->count; i++) {
        code = name_of(words, s->words[i], number, &name, err);
        if (code == 0)
            code = trl_file_print(file, err, "%s%s", i > 0 ? " " : "", name);
    }
    return code < 0 ? code : trl_file_print(file, err, "\n");
}

static int put_object(trl_file *file, const trl_symbols *words, const trl_sentence *s, trl_error *err)
{
    char number[16];
    const char *name;
    int code = trl_file_print(file, err, "{\"words\":[");
    for (size_t i = 0; code == 0 && i < s->count; i++) {
        code = name_of(words, s->words[i], number, &name, err);
        if (code == 0 && i > 0)
            code = trl_file_print(file, err, ",");
        if (code == 0)
            code = trl__json_string(file, name, err);
    }
    if (code == 0)
        code = trl_file_print(file, err, "],\"graph_cost\":");
    if (code == 0)
        code = trl__json_number(file, s->graph, err);
    if (code == 0)
        code = trl_file_print(file, err, ",\"acoustic_cost\":");
    if (code == 0)
        code = trl__json_number(file, s->acoustic, err);
    return code < 0 ? code : trl_file_print(file, err, "}");
}

static int put_json(trl_file *file, const char *id, const trl_symbols *words, const trl_nbest *list, trl_error *err)
{
    int code = trl_file_print(file, err, "{\"id\":");
    if (code == 0)
        code = trl__json_string(file, id, err);
    if (code == 0)
        code = trl_file_print(file, err, ",\"nbest\":[");
    for (size_t i = 0; code == 0 && i < trl_nbest_count(list); i++) {
        trl_sentence s = trl_nbest_get(list, i);
        if (i > 0)
            code = trl_file_print(file, err, ",");
        if (code == 0)
            code = put_object(file, words, &s, err);
    }
    return code < 0 ? code : trl_file_print(file, err, "]}\n");
}

int trl_nbest_writer_add(trl_nbest_writer *w, const char *id, const trl_symbols *words, const trl_nbest *list,
                         trl_error *err)
{
    int code = 0;
    if (w->format == TRL_NBEST_JSONL)
        return put_json(w->file, id, words, list, err);
    for (size_t i = 0; code == 0 && i < trl_nbest_count(list); i++) {
        trl_sentence s = trl_nbest_get(list, i);
        code = put_line(w->file, id, i + 1, words, &s, err);
    }
    return code;
}

int trl_nbest_writer_commit(trl_nbest_writer *w, trl_error *err)
{
    int code = trl_file_commit(w->file, err);
    trl__free(w);
    return code;
}

void trl_nbest_writer_abort(trl_nbest_writer *w)
{
    if (!w)
        return;
    trl_file_abort(w->file);
    trl__free(w);
}
