/* trellis lm, trellis lm perplexity: n-gram language models from text, and how well they fit another. */
#include "cli.h"
#include "cli_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/lm.h>

#define TEXTS                                                                                                          \
    "A text has one sentence on each line and blanks between words; lines without words are passed over, and <s> and " \
    "</s> at the ends of a line are taken for what they are. It may be packed by gzip; - is standard input. The text " \
    "of "                                                                                                              \
    "a Kaldi-style data folder is recognised by utt2spk, segments or wav.scp beside it that have the ids of its "      \
    "lines; "                                                                                                          \
    "these are no words."

#define TEXT_OPTION(type)                                                                                   \
    {                                                                                                       \
        "text", 0, CLI_TEXT, offsetof(type, form), "FORM",                                                  \
            "kaldi: the first field of a line is an id; plain: it is a word; auto (default): as recognised" \
    }

static int choose_form(const cli_command *command, const char *name, trl_lm_form *form)
{
    static const char *const forms[] = {"auto", "plain", "kaldi", NULL};
    int choice = 0, wrong = cli_choose(command, "text", name, forms, &choice);
    *form = (trl_lm_form)choice;
    return wrong;
}

/* ---- lm ---- */

struct lm_values {
    cli_common common;
    const char *output, *smoothing, *vocabulary, *cutoff, *form;
    int order, closed;
    double prune;
};

extern const cli_command cmd_lm;

/* "1,2": for 2-grams, for 3-grams and all longer ones. */
static int parse_cutoffs(const char *text, trl_lm_options *options)
{
    uint32_t value = 0;
    for (int k = 2; text && k <= TRL_LM_MOST_ORDER; k++) {
        if (*text) {
            char *end;
            unsigned long number = strtoul(text, &end, 10);
            if (end == text || (*end && *end != ',') || *text == '-' || number > INT32_MAX || (*end && !end[1]))
                return cli_usage_error(&cmd_lm, "--cutoff takes numbers with commas between, not '%s'", text);
            value = (uint32_t)number;
            text = *end ? end + 1 : end;
        }
        options->cutoff[k] = value;
    }
    return text && *text ? cli_usage_error(&cmd_lm, "--cutoff has more numbers than orders there can be") : 0;
}

static void say_result(const struct lm_values *v, const trl_lm *lm)
{
    trl_lm_text text = trl_lm_trained_on(lm);
    char ngrams[TRL_LM_MOST_ORDER * 32];
    size_t used = 0;
    for (int k = 1; k <= trl_lm_order(lm); k++)
        used += (size_t)snprintf(ngrams + used, sizeof ngrams - used, "%s%" PRIu64, k > 1 ? ", " : "",
                                 trl_lm_ngrams(lm, k));
    cli_say(&v->common, "%" PRIu64 " sentences, %" PRIu64 " words, %" PRIu64 " unknown; n-grams by order: %s",
            text.sentences, text.words, text.unknown, ngrams);
}

static int run_lm(void *values, int count, char **arguments)
{
    static const char *const smoothings[] = {"kneser-ney", "witten-bell", NULL};
    const struct lm_values *v = values;
    trl_lm_options options = {.order = v->order, .vocabulary = v->vocabulary, .closed = v->closed, .prune = v->prune};
    int smoothing = 0, wrong = cli_choose(&cmd_lm, "smoothing", v->smoothing, smoothings, &smoothing);
    if (wrong == 0)
        wrong = parse_cutoffs(v->cutoff, &options);
    if (wrong == 0)
        wrong = choose_form(&cmd_lm, v->form, &options.form);
    if (wrong)
        return wrong;
    options.smoothing = smoothing == 0 ? TRL_LM_KNESER_NEY : TRL_LM_WITTEN_BELL;
    trl_lm *lm;
    trl_error err;
    int code = trl_lm_train((const char *const *)arguments, (size_t)count, &options, &lm, &err);
    if (code == 0)
        code = trl_lm_write(lm, v->output, &err);
    if (code == 0)
        say_result(v, lm);
    trl_lm_destroy(lm);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option lm_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct lm_values, output), "FILE",
     "where to write; packed by gzip when the name ends in .gz; standard output by default"},
    {"order", 'n', CLI_INT, offsetof(struct lm_values, order), "N", "words of the longest n-grams; 3 by default"},
    {"smoothing", 0, CLI_TEXT, offsetof(struct lm_values, smoothing), "NAME", "kneser-ney (default) or witten-bell"},
    {"vocabulary", 0, CLI_TEXT, offsetof(struct lm_values, vocabulary), "FILE",
     "the words of the model: first field of each line, as in a lexicon, where WORD(2) is WORD, or a table of symbols; "
     "all "
     "words of the texts by default"},
    {"closed", 0, CLI_FLAG, offsetof(struct lm_values, closed), NULL,
     "no <unk>: what has words that are not in the vocabulary is not counted"},
    {"cutoff", 0, CLI_TEXT, offsetof(struct lm_values, cutoff), "LIST",
     "leave out n-grams seen less often than this, for 2-grams, 3-grams …, the last number for all longer ones: 1,2"},
    {"prune", 0, CLI_NUMBER, offsetof(struct lm_values, prune), "X",
     "leave out n-grams whose loss raises perplexity by less than this, relatively: 1e-8"},
    TEXT_OPTION(struct lm_values),
    {0}};

static const struct lm_values lm_defaults = {.output = "-", .order = 3};

const cli_command cmd_lm = {
    .name = "lm",
    .synopsis = "TEXT… [-o LM.arpa]",
    .summary = "trains an n-gram language model",
    .description =
        "Counts the n-grams of texts and writes a language model in ARPA form, as `trellis fst arpa` and many other "
        "programs read it. " TEXTS "\n\n"
        "Kneser-Ney is the modified form of Chen and Goodman, interpolated; discounts that a text is too small to "
        "estimate are half of the count, which is said. It is the better choice for most texts. Witten-Bell, "
        "interpolated too, makes no assumption about counts and suits small texts of a regular kind, such as "
        "commands. With either, the probabilities of all words after a history sum to 1.\n\n"
        "Models are open: <unk> stands for every word that the model does not have. With --vocabulary, words of the "
        "texts that are not in it count as <unk>, and words that are in no text get a share. --closed models have no "
        "<unk>.\n\n"
        "The same sentences in any order give the same file.",
    .options = lm_options,
    .examples = "trellis lm text.txt -o words.arpa\n"
                "trellis lm text.gz more.txt --order 4 --cutoff 1,2 --prune 1e-8 -o words.arpa.gz\n"
                "trellis lm transcripts.txt --vocabulary lexicon.txt --closed --smoothing witten-bell -o words.arpa",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct lm_values),
    .defaults = &lm_defaults,
    .run = run_lm,
};

/* ---- lm perplexity ---- */

struct perplexity_values {
    cli_common common;
    const char *form;
    int json;
};

extern const cli_command cmd_lm_perplexity;

static int print_json(const trl_perplexity *p)
{
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "sentences", (json_int_t)p->text.sentences,
                               "words", (json_int_t)p->text.words, "unknown", (json_int_t)p->text.unknown, "events",
                               (json_int_t)p->events, "impossible", (json_int_t)p->impossible, "log10_probability",
                               p->log10, "perplexity", p->perplexity, "known_perplexity", p->known_perplexity);
    trl_error err;
    return cli_json_print(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9), &err) < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static int run_perplexity(void *values, int count, char **arguments)
{
    const struct perplexity_values *v = values;
    trl_lm_form form;
    trl_perplexity p;
    trl_error err;
    int wrong = choose_form(&cmd_lm_perplexity, v->form, &form);
    if (wrong)
        return wrong;
    if (trl_lm_perplexity(arguments[0], (const char *const *)arguments + 1, (size_t)count - 1, form, &p, &err) < 0)
        return cli_failure(&err);
    if (v->json)
        return print_json(&p);
    printf("sentences           %" PRIu64 "\n"
           "words               %" PRIu64 "\n"
           "unknown words       %" PRIu64 "\n"
           "events              %" PRIu64 "\n"
           "impossible events   %" PRIu64 "\n"
           "log10 probability   %.4f\n"
           "perplexity          %.3f\n"
           "of known words      %.3f\n",
           p.text.sentences, p.text.words, p.text.unknown, p.events, p.impossible, p.log10, p.perplexity,
           p.known_perplexity);
    return EXIT_CLEAN;
}

static const cli_option perplexity_options[] = {
    {"json", 0, CLI_FLAG, offsetof(struct perplexity_values, json), NULL, "as JSON"},
    TEXT_OPTION(struct perplexity_values),
    {0}};

const cli_command cmd_lm_perplexity = {
    .name = "lm perplexity",
    .synopsis = "LM TEXT…",
    .summary = "measures how well a language model predicts texts",
    .description =
        "LM is an ARPA file or one of Sphinx's binary files, compressed with gzip or not. Events are the words and the "
        "ends of sentences. Perplexity is 10^(-L / events), L being the sum of the "
        "logarithms of their probabilities: the model is as unsure as if it had so many words to choose from, all "
        "alike. " TEXTS "\n\n"
        "Words that the model does not have get the probability of <unk>, if the model has that one; the last line is "
        "without them. Else they are no events, and the words behind them have no history. An event is impossible if "
        "the model gives it no probability; it is left out.",
    .options = perplexity_options,
    .examples = "trellis lm perplexity words.arpa held-out.txt\n"
                "trellis lm perplexity /usr/share/pocketsphinx/model/en-us/en-us.lm.bin held-out.txt",
    .least = 2,
    .most = INT32_MAX,
    .values_size = sizeof(struct perplexity_values),
    .run = run_perplexity,
};
