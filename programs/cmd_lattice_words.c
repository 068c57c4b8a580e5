/* trellis lattice nbest, lattice words: what lattices say. */
#include "lattice_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/decode.h>
#include <trellis/nbest_file.h>

extern const cli_command cmd_lattice_nbest, cmd_lattice_words;

/* ---- nbest ---- */

struct nbest_values {
    lattice_values shared;
    int n;
    const char *to;
};

typedef struct nbest_job {
    trl_lattice_scale scale;
    size_t n;
    trl_symbols *words;
    trl_nbest_writer *writer;
} nbest_job;

static int list_one(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    nbest_job *j = user;
    trl_nbest *list;
    int code = trl_lattice_nbest(lattice, &j->scale, j->n, &list, err);
    if (code < 0)
        return code;
    code = trl_nbest_writer_add(j->writer, id, trl_lattice_look(lattice).words, list, err);
    trl_nbest_destroy(list);
    return code;
}

static int run_nbest(void *values, int count, char **arguments)
{
    static const char *const names[] = {"text", "jsonl", NULL};
    const struct nbest_values *v = values;
    nbest_job j = {.n = (size_t)v->n};
    trl_error err;
    int format = TRL_NBEST_TEXT, wrong = lattice_scale(&cmd_lattice_nbest, &v->shared, &j.scale);
    if (wrong == 0)
        wrong = cli_choose(&cmd_lattice_nbest, "to", v->to, names, &format);
    if (wrong == 0 && v->n < 1)
        wrong = cli_usage_error(&cmd_lattice_nbest, "-n takes a number from 1 up");
    if (wrong)
        return wrong;
    int code = lattice_words(&v->shared, &j.words, &err);
    if (code == 0)
        code =
            trl_nbest_writer_open(v->shared.output ? v->shared.output : "-", (trl_nbest_format)format, &j.writer, &err);
    if (code == 0)
        code = lattice_each(arguments, count, j.words, list_one, &j, &err);
    if (code == 0) {
        code = trl_nbest_writer_commit(j.writer, &err);
        j.writer = NULL;
    }
    trl_nbest_writer_abort(j.writer);
    trl_symbols_destroy(j.words);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

#define TEXT_OUTPUT(type)                                                                                            \
    {                                                                                                                \
        "output", 'o', CLI_TEXT, offsetof(type, shared.output), "FILE", "where to write; standard output by default" \
    }

static const cli_option nbest_options[] = {
    {"number", 'n', CLI_INT, offsetof(struct nbest_values, n), "N", "strings of each utterance, at most (default 10)"},
    TEXT_OUTPUT(struct nbest_values),
    {"to", 0, CLI_TEXT, offsetof(struct nbest_values, to), "FORMAT", "text (default) or jsonl"},
    LATTICE_WORDS(struct nbest_values, shared),
    LATTICE_SCALES(struct nbest_values, shared),
    {0}};

static const struct nbest_values nbest_defaults = {.shared = LATTICE_DEFAULTS, .n = 10};

const cli_command cmd_lattice_nbest = {
    .name = "lattice nbest",
    .synopsis = "LATTICES… [-n N] [--words FILE] [-o FILE]",
    .summary = "lists the best word strings of lattices",
    .description = "Writes the N best word strings of each lattice, all different, the best first, with the costs of "
                   "graph and sound apart and unscaled. " LATTICE_WEIGHING " " LATTICE_INPUT "\n\n"
                   "Formats (--to):\n\n"
                   "  text    a line per string: id, rank (from 1), graph cost, acoustic cost, words; a tab\n"
                   "          behind each of the first four\n"
                   "  jsonl   an object per utterance: id, nbest: a list of objects with words, graph_cost,\n"
                   "          acoustic_cost; as trellis score --nbest reads it\n\n"
                   "Without --words, words are numbers.",
    .options = nbest_options,
    .examples = "trellis lattice nbest lat.ark --words loop.trg -n 100 --lm-scale 12 --to jsonl -o nbest.jsonl",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct nbest_values),
    .defaults = &nbest_defaults,
    .run = run_nbest,
};

/* ---- words ---- */

struct words_values {
    lattice_values shared;
    const char *to, *model;
    int mbr;
    double frame_shift, posterior_scale;
};

typedef struct words_job {
    const struct words_values *values;
    trl_lattice_scale scale;
    trl_symbols *words;
    trl_model *model; /* with its graph: words are aligned first; NULL: they are not */
    trl_graph *graph;
    trl_decoding_writer *writer;
    trl_utterance **utterances; /* the writer looks at them until the end */
    size_t count, capacity;
    trl_segment *segments; /* of the utterance */
    char (*numbers)[16];   /* names of labels without table */
    size_t room;
} words_job;

static int need_room(words_job *j, size_t count)
{
    if (count <= j->room)
        return 0;
    free(j->segments);
    free(j->numbers);
    j->segments = malloc(count * sizeof *j->segments);
    j->numbers = malloc(count * sizeof *j->numbers);
    j->room = j->segments && j->numbers ? count : 0;
    return j->room ? 0 : -1;
}

static trl_utterance *add_utterance(words_job *j, const char *id)
{
    if (j->count == j->capacity) {
        size_t capacity = 2 * j->capacity + 64;
        trl_utterance **grown = realloc(j->utterances, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        j->utterances = grown;
        j->capacity = capacity;
    }
    size_t length = strlen(id) + 1;
    trl_utterance *u = malloc(sizeof *u + length);
    if (!u)
        return NULL;
    char *copy = memcpy(u + 1, id, length);
    *u = (trl_utterance){.id = copy, .end = -1, .channel = -1};
    return j->utterances[j->count++] = u;
}

static int name_words(words_job *j, const trl_symbols *table, const trl_hypothesis *h, trl_error *err)
{
    double shift = j->values->frame_shift / 1000;
    for (size_t i = 0; i < h->count; i++) {
        const trl_lattice_word *w = &h->words[i];
        const char *name = table ? trl_symbols_name(table, w->word) : j->numbers[i];
        if (!name)
            return cli_error(err, TRL_EINVAL, "the word %d has no name in the table %s", (int)w->word,
                             trl_symbols_title(table));
        snprintf(j->numbers[i], sizeof j->numbers[i], "%d", (int)w->word);
        j->segments[i] = (trl_segment){.label = name,
                                       .first = w->first,
                                       .end = w->end,
                                       .start = w->first * shift,
                                       .stop = w->end * shift,
                                       .confidence = (float)w->confidence,
                                       .index = (int32_t)i};
    }
    return 0;
}

static int write_words(words_job *j, const char *id, const trl_lattice *lattice, const trl_hypothesis *h,
                       trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    trl_utterance *utterance = add_utterance(j, id);
    if (!utterance || need_room(j, h->count + 1) < 0)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    int code = name_words(j, l.words, h, err);
    trl_decoding d = {.utterance = utterance,
                      .words = {j->segments, h->count},
                      .frames = l.frames,
                      .seconds = l.frames * j->values->frame_shift / 1000,
                      .graph_cost = h->graph,
                      .acoustic_cost = h->acoustic,
                      .expected_errors = h->expected_errors,
                      .reached_end = l.reached_end};
    return code < 0 ? code : trl_decoding_writer_add(j->writer, &d, err);
}

static int say_one(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    words_job *j = user;
    trl_lattice *aligned = NULL;
    trl_hypothesis *h = NULL;
    trl_error reason;
    int code = j->model ? trl_lattice_align_words(lattice, j->model, j->graph, &aligned, &reason) : 0;
    if (code < 0)
        return cli_error(err, code, "utterance %s: %s", id, reason.text);
    if (aligned)
        lattice = aligned;
    code = (j->values->mbr ? trl_lattice_mbr : trl_lattice_best)(lattice, &j->scale, &h, err);
    if (code == 0)
        code = write_words(j, id, lattice, h, err);
    trl_hypothesis_destroy(h);
    trl_lattice_destroy(aligned);
    return code;
}

static int read_model(words_job *j, trl_error *err)
{
    const struct words_values *v = j->values;
    int code = v->model ? trl_model_import(v->model, NULL, &j->model, err) : 0;
    return code == 0 && v->model ? trl_graph_read(v->shared.words, &j->graph, err) : code;
}

static int say_all(words_job *j, int format, int count, char **arguments, trl_error *err)
{
    const lattice_values *v = &j->values->shared;
    int code = lattice_words(v, &j->words, err);
    if (code == 0)
        code = read_model(j, err);
    if (code == 0)
        code = trl_decoding_writer_open(v->output ? v->output : "-", (trl_decoding_format)format, &j->writer, err);
    if (code == 0)
        code = lattice_each(arguments, count, j->words, say_one, j, err);
    if (code == 0) {
        code = trl_decoding_writer_commit(j->writer, err);
        j->writer = NULL;
    }
    return code;
}

static int run_words(void *values, int count, char **arguments)
{
    static const char *const names[] = {"text", "ctm", "jsonl", NULL};
    words_job j = {.values = values};
    trl_error err;
    int format = TRL_DECODING_TEXT, wrong = lattice_scale(&cmd_lattice_words, &j.values->shared, &j.scale);
    if (wrong == 0)
        wrong = cli_choose(&cmd_lattice_words, "to", j.values->to, names, &format);
    if (wrong == 0 && !(j.values->posterior_scale > 0 && isfinite(j.values->posterior_scale)))
        wrong = cli_usage_error(&cmd_lattice_words, "--posterior-scale takes a number above 0");
    if (wrong == 0 && !(j.values->frame_shift > 0 && isfinite(j.values->frame_shift)))
        wrong = cli_usage_error(&cmd_lattice_words, "--frame-shift takes milliseconds above 0");
    if (wrong == 0 && j.values->model && !lattice_words_are_graph(&j.values->shared))
        wrong = cli_usage_error(&cmd_lattice_words, "with --model, --words must name the graph (.trg)");
    if (wrong)
        return wrong;
    j.scale = trl_lattice_scale_times(j.scale, j.values->posterior_scale);
    int code = say_all(&j, format, count, arguments, &err);
    trl_decoding_writer_abort(j.writer);
    trl_symbols_destroy(j.words);
    trl_model_destroy(j.model);
    trl_graph_destroy(j.graph);
    for (size_t i = 0; i < j.count; i++)
        free(j.utterances[i]);
    free(j.utterances);
    free(j.segments);
    free(j.numbers);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option words_options[] = {
    TEXT_OUTPUT(struct words_values),
    {"to", 0, CLI_TEXT, offsetof(struct words_values, to), "FORMAT", "text (default), ctm, jsonl"},
    {"mbr", 0, CLI_FLAG, offsetof(struct words_values, mbr), NULL,
     "the words with the least expected errors (minimum Bayes risk) instead of the best path's"},
    LATTICE_WORDS(struct words_values, shared),
    LATTICE_SCALES(struct words_values, shared),
    {"posterior-scale", 0, CLI_NUMBER, offsetof(struct words_values, posterior_scale), "X",
     "factor on all costs for confidences and --mbr (default 0.6): smaller means less sure"},
    {"model", 0, CLI_TEXT, offsetof(struct words_values, model), "MODEL",
     "put words where they were said, by the pronunciations of the graph that --words names"},
    {"frame-shift", 0, CLI_NUMBER, offsetof(struct words_values, frame_shift), "MS",
     "milliseconds from frame to frame, for times (default 10)"},
    {0}};

static const struct words_values words_defaults = {
    .shared = LATTICE_DEFAULTS, .frame_shift = 10, .posterior_scale = TRL_POSTERIOR_SCALE};

const cli_command cmd_lattice_words = {
    .name = "lattice words",
    .synopsis = "LATTICES… [--mbr] [--words FILE] [--to FORMAT] [-o FILE]",
    .summary = "says the best words of lattices, with confidences",
    .description =
        "Writes the words of the best path of each lattice, or with --mbr those that have the fewest errors to be "
        "expected over all of its paths. " LATTICE_WEIGHING " " LATTICE_INPUT "\n\n"
        "Formats (--to):\n\n"
        "  text    a line per utterance: its id and its words\n"
        "  ctm     a line per word: id channel start duration word confidence\n"
        "  jsonl   an object per utterance: words with times and confidences, and the costs of\n"
        "          graph and sound of the best path\n\n"
        "A word's confidence is the probability that it was said there, from all paths of the lattice. Times are "
        "seconds from the utterance's beginning, frames times --frame-shift. Without --model they are those of the "
        "words' arcs, which begin and end somewhere near. Without --words, words are numbers.",
    .options = words_options,
    .examples = "trellis lattice words lat.ark --words loop.trg --lm-scale 12\n"
                "trellis lattice words lat.ark --words loop.trg --model mono.trm --mbr --to ctm -o words.ctm",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct words_values),
    .defaults = &words_defaults,
    .run = run_words,
};
