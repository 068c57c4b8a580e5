/* Files of N-best lists: as `trellis decode` writes them, and as they are after rescoring. */
#include "bam/bam_lists.h"
#include "base/fail.h"
#include "base/json_read.h"
#include "base/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <trellis/file.h>

/* ---- text: id, rank, graph cost, acoustic cost, words, a tab behind each of the first four ---- */

enum { ID, RANK, GRAPH, ACOUSTIC, WORDS, FIELDS };

static int fail_line(const trl_bam_lists *l, const trl__text *text, const char *what, trl_error *err)
{
    return trl__fail_line(err, TRL_EFORMAT, l->name, text->line, "%s", what);
}

static int split_line(char *line, char *field[FIELDS])
{
    for (int i = 0; i < FIELDS - 1; i++) {
        field[i] = line;
        if (!(line = strchr(line, '\t')))
            return -1;
        *line++ = '\0';
    }
    field[WORDS] = line;
    return 0;
}

/* A cost as the logarithm that it is minus of; "-": not known. */
static int parse_cost(const char *field, double unknown, double *value)
{
    *value = unknown;
    if (strcmp(field, "-") == 0)
        return 0;
    if (trl__parse_double(field, value) < 0)
        return -1;
    *value = -*value;
    return 0;
}

static int parse_line(trl_bam_lists *l, const trl__text *text, char *line, trl__scratch *words, trl_error *err)
{
    char *field[FIELDS];
    int64_t rank;
    double language, first;
    size_t count = 0;
    if (split_line(line, field) < 0 || *field[ID] == '\0')
        return fail_line(l, text,
                         "expected id, rank, graph cost, acoustic cost and words, with tabs between them, as `trellis "
                         "decode --to nbest` writes them",
                         err);
    if (trl__parse_int(field[RANK], &rank) < 0 || parse_cost(field[GRAPH], 0, &language) < 0 ||
        parse_cost(field[ACOUSTIC], NAN, &first) < 0)
        return fail_line(l, text, "the rank is no number, or a cost neither a number nor -", err);
    trl__list *last = l->count > 0 ? &l->items[l->count - 1] : NULL;
    int is_new = !last || strcmp(last->id, field[ID]) != 0;
    if (rank != (is_new ? 1 : (int64_t)last->count + 1))
        return trl__fail_line(err, TRL_EFORMAT, l->name, text->line,
                              "utterance %s: rank %" PRId64 " instead of %zu; hypotheses are missing", field[ID], rank,
                              is_new ? (size_t)1 : last->count + 1);
    const char **list = trl__scratch_get(words, strlen(field[WORDS]) / 2 + 1, sizeof *list);
    if (!list)
        return trl__fail_memory(err);
    for (char *word; (word = trl__next_field(&field[WORDS]));)
        list[count++] = word;
    int code = is_new ? trl__lists_add(l, field[ID], text->line, err) : 0;
    trl_bam_hypothesis *h = code == 0 ? trl__lists_add_hypothesis(l, list, count, err) : NULL;
    if (!h)
        return code < 0 ? code : TRL_ENOMEM;
    h->language = language;
    h->first = first;
    return 0;
}

static int read_lines(trl_bam_lists *l, trl__text *text, trl_error *err)
{
    trl__scratch words = {0};
    char *line;
    size_t length;
    int is_cut = text->size > 0 && text->bytes[text->size - 1] != '\n', code = 0;
    while (code == 0 && trl__text_line(text, &line, &length))
        if (length > 0)
            code = parse_line(l, text, line, &words, err);
    trl__scratch_free(&words);
    if (code == 0 && is_cut)
        code = fail_line(l, text, "the last line has no end: the file has been cut", err);
    return code;
}

/* ---- JSON ---- */

/* A cost as a logarithm: of a field that is not there, `unknown`. */
static double logarithm(const trl__json_value *object, const char *name, double unknown)
{
    const trl__json_value *value = trl__json_member(object, name);
    return trl__json_is(value, TRL__JSON_NUMBER) ? -value->number : unknown;
}

static int add_object(trl_bam_lists *l, const trl__text *text, const trl__json_value *object, trl__scratch *scratch,
                      trl_error *err)
{
    const trl__json_value *words = trl__json_member(object, "words");
    size_t count = 0;
    const char **list = trl__scratch_get(scratch, trl__json_count(words) + 1, sizeof *list);
    if (!list)
        return trl__fail_memory(err);
    if (!trl__json_is(words, TRL__JSON_ARRAY))
        return fail_line(l, text, "a hypothesis has no list of \"words\"", err);
    for (const trl__json_value *word = trl__json_first(words); word; word = word->next)
        if (!(list[count++] = word->text))
            return fail_line(l, text, "\"words\" are strings", err);
    trl_bam_hypothesis *h = trl__lists_add_hypothesis(l, list, count, err);
    if (!h)
        return TRL_ENOMEM;
    h->language = logarithm(object, "graph_cost", 0);
    h->first = logarithm(object, "acoustic_cost", NAN);
    h->again = logarithm(object, "aligned_cost", NAN);
    h->bam = logarithm(object, "bam_cost", NAN);
    h->missing = -logarithm(object, "missing", NAN);
    return 0;
}

static int64_t whole(const trl__json_value *object, const char *name)
{
    const trl__json_value *value = trl__json_member(object, name);
    return value ? value->whole : 0;
}

static double number(const trl__json_value *object, const char *name)
{
    const trl__json_value *value = trl__json_member(object, name);
    return value ? value->number : 0;
}

static int read_hits(trl_bam_lists *l, const trl__text *text, const trl__json_value *rows, trl_error *err)
{
    size_t order = (size_t)l->run.order, left = 0;
    for (const trl__json_value *row = trl__json_first(rows); row; row = row->next, left++) {
        size_t right = 0;
        if (trl__json_count(row) != order + 1)
            return fail_line(l, text, "\"hits\" is no square table", err);
        for (const trl__json_value *cell = trl__json_first(row); cell; cell = cell->next)
            l->run.hit[left][right++] = (uint64_t)cell->whole;
    }
    return 0;
}

static int read_run(trl_bam_lists *l, const trl__text *text, const trl__json_value *o, trl_error *err)
{
    trl_bam_run *r = &l->run;
    const trl__json_value *rows = trl__json_member(o, "hits");
    r->rescored = (int)whole(o, "rescored");
    r->order = (int)whole(o, "order");
    r->word_boundaries = (int)whole(o, "word_boundaries");
    r->least_frames = whole(o, "min_frames");
    r->most_frames = whole(o, "max_frames");
    r->alpha = number(o, "alpha");
    r->beta = number(o, "beta");
    r->gaussians = (uint64_t)whole(o, "gaussians");
    r->model_gaussians = (uint64_t)whole(o, "model_gaussians");
    r->hours = number(o, "hours");
    r->weights = (trl_bam_weights){number(o, "lambda"), number(o, "back_off"), number(o, "lm_weight")};
    r->first_pass = (uint64_t)whole(o, "first_pass");
    r->lost = (uint64_t)whole(o, "lost");
    if (r->rescored < 1 || r->rescored > 2 || r->order < 0 || r->order > TRL_BAM_ORDER_MOST ||
        trl__json_count(rows) != (size_t)r->order + 1 || trl_bam_weights_check(&r->weights, err) < 0)
        return fail_line(l, text, "\"bam\" does not say what the lists were rescored with", err);
    return read_hits(l, text, rows, err);
}

static int add_utterance(trl_bam_lists *l, const trl__text *text, const trl__json_value *object, trl__scratch *words,
                         trl_error *err)
{
    const char *id = trl__json_text(trl__json_member(object, "id"));
    const trl__json_value *list = trl__json_member(object, "nbest"), *run = trl__json_member(object, "bam");
    if (run && l->count == 0)
        return read_run(l, text, run, err);
    if (!id || *id == '\0' || trl__json_count(list) == 0)
        return fail_line(l, text, "expected an object with \"id\" and a list \"nbest\" of hypotheses", err);
    int code = trl__lists_add(l, id, text->line, err);
    for (const trl__json_value *item = trl__json_first(list); code == 0 && item; item = item->next)
        code = add_object(l, text, item, words, err);
    return code;
}

static int read_objects(trl_bam_lists *l, trl__text *text, trl_error *err)
{
    trl__scratch words = {0};
    char *line;
    size_t length;
    int code = 0;
    while (code == 0 && trl__text_line(text, &line, &length)) {
        trl__arena values = {0};
        const trl__json_value *object;
        if (length == 0)
            continue;
        code = trl__json_read(l->name, text->line, line, length, &values, &object, err);
        if (code == 0)
            code = add_utterance(l, text, object, &words, err);
        trl__arena_free(&values);
    }
    trl__scratch_free(&words);
    return code;
}

/* Scores of a hypothesis that was not rescored, among some that were, would be taken for the worst. */
static int check_scores(const trl_bam_lists *l, trl_error *err)
{
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < l->items[i].count; k++) {
            const trl_bam_hypothesis *h = trl__list_hypotheses(l, &l->items[i]) + k;
            if (!isfinite(h->language) || (l->run.rescored && !isfinite(h->first + h->again + h->bam + h->missing)))
                return trl__fail_line(err, TRL_EFORMAT, l->name, l->items[i].line,
                                      "utterance %s: hypothesis %zu lacks a score", l->items[i].id, k + 1);
        }
    return 0;
}

int trl__lists_parse(const char *name, trl__text *text, trl_bam_lists **out, trl_error *err)
{
    trl_bam_lists *l = NULL;
    int code = trl__lists_create(name, &l, err);
    *out = NULL;
    if (code == 0)
        code =
            text->bytes[strspn(text->bytes, " \t\r\n")] == '{' ? read_objects(l, text, err) : read_lines(l, text, err);
    if (code == 0 && l->count == 0)
        code = trl__fail(err, TRL_EFORMAT, "%s: there is no list in it", name);
    if (code == 0)
        code = check_scores(l, err);
    if (code < 0)
        trl_bam_lists_destroy(l);
    else
        *out = l;
    return code;
}

int trl_bam_lists_read(const char *path, trl_bam_lists **out, trl_error *err)
{
    trl__text text;
    *out = NULL;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    code = trl__lists_parse(path, &text, out, err);
    trl__text_free(&text);
    return code;
}

/* ---- writing ---- */

static int put_number(trl_file *f, const char *name, double value, trl_error *err)
{
    int code = trl_file_print(f, err, ",\"%s\":", name);
    return code < 0 ? code : trl__json_number(f, value, err);
}

static int put_run(trl_file *f, const trl_bam_run *r, trl_error *err)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"alpha", r->alpha},
                  {"beta", r->beta},
                  {"hours", r->hours},
                  {"lambda", r->weights.lambda},
                  {"back_off", r->weights.back_off},
                  {"lm_weight", r->weights.lm_weight}};
    int code = trl_file_print(f, err,
                              "{\"bam\":{\"rescored\":%d,\"order\":%d,\"word_boundaries\":%d,\"min_frames\":%" PRId64
                              ",\"max_frames\":%" PRId64 ",\"gaussians\":%" PRIu64 ",\"model_gaussians\":%" PRIu64
                              ",\"first_pass\":%" PRIu64 ",\"lost\":%" PRIu64,
                              r->rescored, r->order, r->word_boundaries, r->least_frames, r->most_frames, r->gaussians,
                              r->model_gaussians, r->first_pass, r->lost);
    for (size_t i = 0; code == 0 && i < sizeof fields / sizeof *fields; i++)
        code = put_number(f, fields[i].name, fields[i].value, err);
    for (int left = 0; code == 0 && left <= r->order; left++) {
        code = trl_file_print(f, err, left == 0 ? ",\"hits\":[[" : "],[");
        for (int right = 0; code == 0 && right <= r->order; right++)
            code = trl_file_print(f, err, "%s%" PRIu64, right > 0 ? "," : "", r->hit[left][right]);
    }
    return code < 0 ? code : trl_file_print(f, err, "]]}}\n");
}

static int put_hypothesis(trl_file *f, const trl_bam_hypothesis *h, trl_error *err)
{
    int code = trl_file_print(f, err, "{\"words\":[");
    for (size_t i = 0; code == 0 && i < h->count; i++) {
        code = i > 0 ? trl_file_print(f, err, ",") : 0;
        if (code == 0)
            code = trl__json_string(f, h->words[i], err);
    }
    if (code == 0)
        code = trl_file_print(f, err, "]");
    if (code == 0)
        code = put_number(f, "graph_cost", -h->language, err);
    if (code == 0)
        code = put_number(f, "acoustic_cost", -h->first, err);
    if (code == 0)
        code = put_number(f, "aligned_cost", -h->again, err);
    if (code == 0)
        code = put_number(f, "bam_cost", -h->bam, err);
    if (code == 0)
        code = put_number(f, "missing", h->missing, err);
    return code < 0 ? code : trl_file_print(f, err, "}");
}

static int put_list(trl_file *f, trl_bam_list list, trl_error *err)
{
    int code = trl_file_print(f, err, "{\"id\":");
    if (code == 0)
        code = trl__json_string(f, list.id, err);
    for (size_t i = 0; code == 0 && i < list.count; i++) {
        code = trl_file_print(f, err, i > 0 ? "," : ",\"nbest\":[");
        if (code == 0)
            code = put_hypothesis(f, &list.hypotheses[i], err);
    }
    return code < 0 ? code : trl_file_print(f, err, "]}\n");
}

int trl_bam_lists_write(const trl_bam_lists *l, const char *path, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    if (l->run.rescored)
        code = put_run(file, &l->run, err);
    for (size_t i = 0; code == 0 && i < l->count; i++)
        code = put_list(file, trl_bam_lists_get(l, i), err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}
