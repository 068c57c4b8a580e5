/* trellis corpus check: everything that is wrong with a corpus, in one run. */
#include "cli.h"
#include "cli_json.h"
#include "corpus_input.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/file.h>

#define SHOWN_PER_KIND 20

extern const cli_command cmd_corpus_check;

struct values {
    cli_common common;
    corpus_input corpus;
    const char *lexicon, *json;
    double rate, clipped, phone, characters;
    int all, text_optional;
};

typedef struct report {
    const char *corpus_path;
    trl_lexicon *lexicon;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_check_summary summary;
    trl_text_summary texts;
    trl_file *json; /* made first, so that a name that can't be written is known before the work */
} report;

static int check_numbers(const struct values *v)
{
    if (v->rate < 0 || v->phone < 0)
        return cli_usage_error(&cmd_corpus_check, "--rate and --phone-seconds can't be negative");
    if (v->characters <= 0)
        return cli_usage_error(&cmd_corpus_check, "--characters is a number above 0");
    if (v->clipped < 0 || v->clipped > 100)
        return cli_usage_error(&cmd_corpus_check, "--clipped is a share in percent, from 0 to 100");
    return 0;
}

static trl_check_options check_options(const struct values *v)
{
    trl_check_options o = trl_check_defaults();
    o.rate = v->rate;
    o.clipped_share = v->clipped / 100;
    o.seconds_per_phone = v->phone;
    o.characters_per_second = v->characters;
    return o;
}

/* ---- For people ---- */

/* By kind, then by place; words, which have a count, by that. */
static int by_place(const void *a, const void *b)
{
    const trl_finding *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int order = x->word && y->word ? strcmp(x->word, y->word) : 0;
    if (order == 0)
        order = strcmp(x->file, y->file);
    if (order == 0)
        order = (x->line > y->line) - (x->line < y->line);
    if (order == 0)
        order = strcmp(x->utterance ? x->utterance : "", y->utterance ? y->utterance : "");
    return order ? order : strcmp(x->message, y->message);
}

/* All findings, those of a kind together; the caller frees. */
static trl_finding *sorted(const trl_findings *findings)
{
    size_t count = trl_findings_count(findings);
    trl_finding *list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = *trl_findings_get(findings, i);
    if (list)
        qsort(list, count, sizeof *list, by_place);
    return list;
}

static void print_kind(const trl_finding *list, size_t count, int all)
{
    trl_finding_kind kind = list[0].kind;
    printf("%s (%s, %zu): %s\n", trl_finding_name(kind), trl_finding_is_fatal(kind) ? "error" : "warning", count,
           trl_finding_advice(kind));
    size_t shown = all || count <= SHOWN_PER_KIND ? count : SHOWN_PER_KIND;
    for (size_t i = 0; i < shown; i++)
        corpus_print_finding(stdout, &list[i]);
    if (shown < count)
        printf("and %zu more; --all shows them\n", count - shown);
    putchar('\n');
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* How often, and the most frequent ones. */
static void print_texts(const trl_text_summary *s)
{
    for (int c = TRL_TEXT_SAME + 1; c < TRL_TEXT_CHANGES; c++) {
        const trl_text_example *e = s->examples[c];
        if (s->tokens[c] == 0)
            continue;
        printf("\n%s: %zu word%s, %zu distinct:", trl_text_change_name(c), s->tokens[c], plural(s->tokens[c]),
               s->distinct[c]);
        for (size_t i = 0; i < TRL_TEXT_EXAMPLES && e[i].written; i++)
            printf("%s %s%s%s", i ? ";" : "", e[i].written, *e[i].words ? " -> " : "", e[i].words);
    }
}

static void print_summary(const report *r, size_t errors)
{
    const trl_check_summary *s = &r->summary;
    const char *unit = s->seconds < 60 ? "s" : s->seconds < 3600 ? "min" : "h";
    double length = s->seconds < 60 ? s->seconds : s->seconds < 3600 ? s->seconds / 60 : s->seconds / 3600;
    printf("%zu utterance%s (%zu unusable) of %zu speaker%s in %zu recording%s, %.2f %s of usable sound at %g Hz\n",
           s->utterances, plural(s->utterances), s->bad_utterances, s->speakers, plural(s->speakers), s->recordings,
           plural(s->recordings), length, unit, s->rate);
    printf("%zu word%s, %zu distinct", s->words, plural(s->words), s->distinct_words);
    if (r->lexicon && s->unknown_words == 0)
        printf("; all are in the lexicon");
    else if (r->lexicon)
        printf("; %zu not in the lexicon, %zu time%s in all", s->distinct_unknown_words, s->unknown_words,
               plural(s->unknown_words));
    if (r->lexicon) {
        size_t words = trl_lexicon_words(r->lexicon), phones = trl_lexicon_phones(r->lexicon);
        printf("\nlexicon: %zu word%s, %zu phone%s", words, plural(words), phones, plural(phones));
    }
    print_texts(&r->texts);
    size_t count = trl_findings_count(r->findings);
    if (count == 0)
        printf("\nno findings\n");
    else
        printf("\n%zu finding%s: %zu error%s, %zu warning%s\n", count, plural(count), errors, plural(errors),
               count - errors, plural(count - errors));
}

static int print_report(const report *r, int all)
{
    trl_finding *list = sorted(r->findings);
    if (!list)
        return cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    size_t count = trl_findings_count(r->findings), errors = 0;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && list[next].kind == list[i].kind; next++)
            errors += (size_t)trl_finding_is_fatal(list[next].kind);
        print_kind(list + i, next - i, all);
    }
    free(list);
    print_summary(r, errors);
    return 0;
}

/* ---- For machines ---- */

static json_t *texts_json(const trl_text_summary *s)
{
    json_t *json = json_object();
    for (int c = TRL_TEXT_SAME + 1; c < TRL_TEXT_CHANGES; c++) {
        json_t *examples = json_array();
        const trl_text_example *e = s->examples[c];
        for (size_t i = 0; i < TRL_TEXT_EXAMPLES && e[i].written; i++)
            json_array_append_new(examples,
                                  json_pack("{s:o,s:o,s:I}", "written", cli_json_string(e[i].written), "words",
                                            cli_json_string(e[i].words), "count", (json_int_t)e[i].times));
        json_object_set_new(json, trl_text_change_name(c),
                            json_pack("{s:I,s:I,s:o}", "words", (json_int_t)s->tokens[c], "distinct",
                                      (json_int_t)s->distinct[c], "examples", examples));
    }
    return json;
}

static json_t *summary_json(const report *r)
{
    const trl_check_summary *s = &r->summary;
    json_t *json = json_pack("{s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:f}", "utterances", (json_int_t)s->utterances,
                             "bad_utterances", (json_int_t)s->bad_utterances, "speakers", (json_int_t)s->speakers,
                             "recordings", (json_int_t)s->recordings, "seconds", s->seconds, "words",
                             (json_int_t)s->words, "distinct_words", (json_int_t)s->distinct_words, "rate", s->rate);
    if (r->lexicon) {
        json_object_set_new(json, "lexicon_words", json_integer((json_int_t)trl_lexicon_words(r->lexicon)));
        json_object_set_new(json, "lexicon_phones", json_integer((json_int_t)trl_lexicon_phones(r->lexicon)));
        json_object_set_new(json, "unknown_words", json_integer((json_int_t)s->unknown_words));
        json_object_set_new(json, "distinct_unknown_words", json_integer((json_int_t)s->distinct_unknown_words));
        json_object_set_new(json, "texts", texts_json(&r->texts));
    }
    return json;
}

static json_t *findings_json(const trl_findings *findings)
{
    json_t *list = json_array();
    const trl_finding *f;
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++) {
        json_t *item = json_pack("{s:s,s:s,s:o,s:I,s:o,s:o,s:s}", "kind", trl_finding_name(f->kind), "severity",
                                 trl_finding_is_fatal(f->kind) ? "error" : "warning", "file", cli_json_string(f->file),
                                 "line", (json_int_t)f->line, "utterance", cli_json_string(f->utterance), "message",
                                 cli_json_string(f->message), "advice", trl_finding_advice(f->kind));
        if (f->word) {
            json_object_set_new(item, "word", cli_json_string(f->word));
            json_object_set_new(item, "count", json_integer((json_int_t)f->count));
        }
        json_array_append_new(list, item);
    }
    return list;
}

static int write_json(report *r)
{
    trl_error err;
    json_t *json = json_pack("{s:o,s:s,s:o,s:o}", "corpus", cli_json_string(r->corpus_path), "format",
                             trl_corpus_format_name(r->corpus), "summary", summary_json(r), "findings",
                             findings_json(r->findings));
    int code = cli_json_write(json, JSON_INDENT(1), r->json, &err);
    if (code == 0) {
        code = trl_file_commit(r->json, &err);
        r->json = NULL;
    }
    return code < 0 ? cli_failure(&err) : 0;
}

/* ---- The command ---- */

static int check_sounds(const struct values *v, report *r)
{
    trl_pool *pool;
    int exit_code = cli_pool(&v->common, &pool);
    if (exit_code)
        return exit_code;
    trl_check_options o = check_options(v);
    o.progress = cli_progress(&v->common, "checking", "utterances", trl_corpus_count(r->corpus));
    trl_error err;
    int code = trl_corpus_check(r->corpus, r->lexicon, &o, pool, &r->summary, r->findings, &err);
    trl_progress_destroy(o.progress);
    trl_pool_destroy(pool);
    return code < 0 ? cli_failure(&err) : 0;
}

static int check(const struct values *v, const trl_corpus_options *reading, report *r)
{
    trl_error err;
    if ((v->json && trl_file_create(v->json, &r->json, &err) < 0) || trl_findings_create(&r->findings, &err) < 0)
        return cli_failure(&err);
    int exit_code = v->lexicon ? corpus_input_lexicon(&v->corpus, v->lexicon, r->findings, &r->lexicon) : 0;
    if (exit_code == 0 && trl_corpus_read(r->corpus_path, reading, r->findings, &r->corpus, &err) < 0)
        exit_code = cli_failure(&err);
    if (exit_code == 0 && r->lexicon && !v->corpus.as_is &&
        trl_corpus_find_words(r->corpus, r->lexicon, v->corpus.replace, &r->texts, r->findings, &err) < 0)
        exit_code = cli_failure(&err);
    if (exit_code == 0)
        exit_code = check_sounds(v, r);
    if (exit_code == 0 && v->json)
        exit_code = write_json(r);
    if (exit_code == 0 && !(v->json && strcmp(v->json, "-") == 0))
        exit_code = print_report(r, v->all);
    if (exit_code == 0 && trl_findings_count(r->findings) > 0)
        exit_code = EXIT_FINDINGS;
    return exit_code;
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    const struct values *v = values;
    trl_corpus_options reading = trl_corpus_defaults();
    reading.need_text = !v->text_optional;
    int exit_code = corpus_input_parse(&cmd_corpus_check, &v->corpus, &reading, NULL);
    if (exit_code == 0)
        exit_code = check_numbers(v);
    if (exit_code)
        return exit_code;
    report r = {.corpus_path = arguments[0]};
    exit_code = check(v, &reading, &r);
    trl_file_abort(r.json);
    trl_corpus_destroy(r.corpus);
    trl_lexicon_destroy(r.lexicon);
    trl_findings_destroy(r.findings);
    return exit_code;
}

static const cli_option options[] = {
    {"lexicon", 'l', CLI_TEXT, offsetof(struct values, lexicon), "FILE",
     "pronunciations: words that are not in it are reported, and transcripts are measured in phones; several with "
     "commas between"},
    {"json", 0, CLI_TEXT, offsetof(struct values, json), "FILE",
     "write the findings as JSON; - is standard output, instead of the text"},
    {"all", 'a', CLI_FLAG, offsetof(struct values, all), NULL, "show every finding, not only the first 20 of a kind"},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    CORPUS_WORD_OPTIONS(struct values, corpus),
    {"rate", 'r', CLI_NUMBER, offsetof(struct values, rate), "HZ",
     "the sample rate to expect; without it the one that most recordings have"},
    {"text-optional", 0, CLI_FLAG, offsetof(struct values, text_optional), NULL,
     "sound without a transcript is no finding"},
    {"clipped", 0, CLI_NUMBER, offsetof(struct values, clipped), "PERCENT",
     "report clipping from this share of samples at full scale on; default 0.1"},
    {"phone-seconds", 0, CLI_NUMBER, offsetof(struct values, phone), "SECONDS",
     "with a lexicon: a phone takes at least this long; default 0.03"},
    {"characters", 0, CLI_NUMBER, offsetof(struct values, characters), "N",
     "without a lexicon: nobody says more characters than this in a second; default 40"},
    {0}};

const cli_command cmd_corpus_check = {
    .name = "corpus check",
    .synopsis = "CORPUS [--lexicon FILE] [--json FILE]",
    .summary = "finds everything that is wrong with recordings and transcripts",
    .description =
        "Reads the whole corpus, every sound included, and reports in one run what is wrong, each with its file and "
        "line and what to do: sound that is missing, unreadable, empty, silent, clipped, stereo or at another rate "
        "than "
        "the rest; transcripts without sound and sound without transcripts; ids used twice; parts outside their sound; "
        "sound too short for one frame of 25 ms; transcripts too long for their sound; text that is not UTF-8; and "
        "with a lexicon, words that are not in it, the most frequent first, and phones that look wrong.\n\n"
        "CORPUS is one of\n\n"
        "  a folder with wav.scp, text, utt2spk, segments (Kaldi). Paths are looked for in\n"
        "    the folder, its parent and the working directory. Shell pipes are refused.\n"
        "  a folder of sound files with .lab, .txt or .TextGrid beside them, one\n"
        "    sub-folder per speaker; a TextGrid's tiers are speakers, except words and phones\n"
        "    of an alignment: these words are one transcript\n"
        "  a .tsv manifest; its first line names the columns: path (audio, file, wav),\n"
        "    id, text (transcript, sentence), speaker (client_id), start, end, channel\n"
        "  a sound file\n\n"
        "Sound is WAV, FLAC, Ogg, MP3, SPHERE, AIFF and others, and by FFmpeg's libraries, where they are installed, "
        "M4A, "
        "MP4, WebM, Windows Media, AMR and the sound of videos. Of a video and a sound file with its name beside it, "
        "the "
        "sound file is used.\n\n"
        "Utterances are sorted by id. In a folder of sound files the id is the file's base name, or where several "
        "files share it, the path below the folder with dashes (anna/001.wav: anna-001); a TextGrid's interval adds "
        "-TIER-START-END in ms. Of several lines or files with one id the first counts, the others are left "
        "out.\n\n" TEXTS_DESCRIPTION
        " How many words are taken otherwise than written, and the most frequent ones, is part of the summary, where "
        "there is a lexicon.\n\n"
        "Findings are grouped by kind, each as file:line: utterance: what is wrong. Errors say that an utterance, line "
        "or file can't be used, warnings that it can.\n\n"
        "The JSON object has the keys corpus, format, summary (utterances, bad_utterances, speakers, recordings, "
        "seconds, words, distinct_words, rate, and with a lexicon lexicon_words, lexicon_phones, unknown_words, "
        "distinct_unknown_words, and texts: of letters, marks, split, replaced and left-out, how many words, "
        "how many distinct ones, and examples) and findings: "
        "a list of objects with kind, severity (error, warning), file, line (0: the whole file), utterance (or null), "
        "message, advice, and for an unknown word also word and count.",
    .options = options,
    .examples = "trellis corpus check data/train --lexicon lexicon.txt\n"
                "trellis corpus check recordings --rate 16000 --all\n"
                "trellis corpus check cv/validated.tsv --json findings.json",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.clipped = 0.1, .phone = 0.03, .characters = 40},
    .run = run,
};
