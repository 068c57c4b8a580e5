/* trellis score: how many words are wrong, how sure is that, and which of two systems is better? */
#include "cli.h"
#include "score_output.h"

#include <stdlib.h>
#include <string.h>

extern const cli_command cmd_score;

struct values {
    cli_common common;
    const char *scorer, *format, *ref_format, *letters, *utt2spk, *json, *draw;
    int optional, nbest, alignments, confusions, replicates, seed;
};

static const struct values defaults = {.confusions = -1, .replicates = 2000, .seed = 1};

typedef struct job {
    const struct values *values;
    trl_score_options options;
    trl_bootstrap bootstrap;
    int ref_format, format;
    trl_transcripts *said, *heard[2];
    trl_pool *pool;
    score_results results;
} job;

/* ---- Options ---- */

enum { DRAW_UTTERANCES, DRAW_SPEAKERS, DRAW_NOTHING };
static const char *const scorers[] = {"sclite", "edit", NULL};
const char *const score_letters[] = {"usual", "keep", "ascii", "all", NULL};

static int set_options(job *j)
{
    static const char *const formats[] = {"any", "trn", "text", "ctm", "stm", "json", NULL};
    static const char *const draws[] = {"utterances", "speakers", "none", NULL};
    const struct values *v = j->values;
    int draw = DRAW_UTTERANCES;
    int code = cli_choose(&cmd_score, "scorer", v->scorer, scorers, &j->options.scorer);
    if (code == 0)
        code = cli_choose(&cmd_score, "format", v->format, formats, &j->format);
    j->ref_format = j->format;
    if (code == 0)
        code = cli_choose(&cmd_score, "ref-format", v->ref_format, formats, &j->ref_format);
    if (code == 0)
        code = cli_choose(&cmd_score, "letters", v->letters, score_letters, &j->options.letters);
    if (code == 0)
        code = cli_choose(&cmd_score, "draw", v->draw, draws, &draw);
    if (code == 0 && v->seed < 0)
        code = cli_usage_error(&cmd_score, "--seed takes a number from 0 up");
    if (code == 0 && (v->replicates < 1 || v->replicates > 10000000))
        code = cli_usage_error(&cmd_score, "--replicates takes a number from 1 to 10000000");
    j->options.optional_words = v->optional;
    j->options.oracle = v->nbest;
    j->bootstrap = trl_bootstrap_defaults();
    j->bootstrap.speakers = draw == DRAW_SPEAKERS;
    j->bootstrap.replicates = v->replicates;
    j->bootstrap.seed = (uint64_t)v->seed;
    j->results.bootstrap = draw == DRAW_NOTHING ? NULL : &j->bootstrap;
    j->results.oracle = v->nbest;
    j->results.scorer = scorers[j->options.scorer];
    return code;
}

/* ---- The work ---- */

static int read_files(job *j, int count, char **arguments, trl_error *err)
{
    j->results.reference = arguments[0];
    j->results.count = count - 1;
    int code = trl_transcripts_read(arguments[0], (trl_transcripts_format)j->ref_format, &j->said, err);
    if (code == 0 && j->values->utt2spk)
        code = trl_transcripts_speakers(j->said, j->values->utt2spk, err);
    for (int i = 0; code == 0 && i < j->results.count; i++) {
        j->results.systems[i].path = arguments[1 + i];
        code = trl_transcripts_read(arguments[1 + i], (trl_transcripts_format)j->format, &j->heard[i], err);
    }
    return code;
}

static int compute(job *j, trl_error *err)
{
    score_results *r = &j->results;
    int code = 0;
    for (int i = 0; code == 0 && i < r->count; i++) {
        scored_system *s = &r->systems[i];
        code = trl_score_create(j->said, j->heard[i], &j->options, j->pool, &s->score, err);
        if (code == 0 && r->bootstrap)
            code = trl_score_interval(s->score, r->bootstrap, j->pool, s->interval, err);
    }
    if (code == 0 && r->count == 2 && r->bootstrap)
        code = trl_score_compare(r->systems[0].score, r->systems[1].score, r->bootstrap, j->pool, &r->comparison, err);
    return code;
}

/* ---- What is said ---- */

static int print(const job *j, trl_error *err)
{
    const score_results *r = &j->results;
    int code = 0;
    for (int i = 0; code == 0 && i < r->count; i++) {
        const trl_score *score = r->systems[i].score;
        if (j->values->alignments)
            score_print_alignments(stdout, score);
        if (j->values->confusions >= 0)
            code = score_print_confusions(stdout, score, j->values->confusions, err);
        score_print_speakers(stdout, score);
        score_print_summary(stdout, r, i);
    }
    if (code == 0 && r->count == 2 && r->bootstrap)
        score_print_comparison(stdout, r);
    return code;
}

static int report(const job *j)
{
    trl_error err;
    const char *json = j->values->json;
    int code = json && strcmp(json, "-") == 0 ? 0 : print(j, &err);
    if (code == 0 && json)
        code = score_write_json(json, &j->results, &err);
    if (code < 0)
        return cli_failure(&err);
    size_t unmatched = 0;
    for (int i = 0; i < j->results.count; i++)
        unmatched += score_say_unmatched(&j->results.systems[i], j->values->common.quiet);
    return unmatched ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int run(void *values, int count, char **arguments)
{
    job j = {.values = values};
    trl_error err;
    int code = set_options(&j);
    if (code == 0)
        code = cli_pool(&j.values->common, &j.pool);
    if (code == 0 && (read_files(&j, count, arguments, &err) < 0 || compute(&j, &err) < 0))
        code = cli_failure(&err);
    if (code == 0)
        code = report(&j);
    for (int i = 0; i < 2; i++) {
        trl_score_destroy(j.results.systems[i].score);
        trl_transcripts_destroy(j.heard[i]);
    }
    trl_transcripts_destroy(j.said);
    trl_pool_destroy(j.pool);
    return code;
}

#define VALUE(member) offsetof(struct values, member)
static const cli_option options[] = {
    {"scorer", 's', CLI_TEXT, VALUE(scorer), "NAME", "sclite (default) or edit"},
    {"format", 'f', CLI_TEXT, VALUE(format), "NAME", "of all files: any (default), trn, text, ctm, stm, json"},
    {"ref-format", 0, CLI_TEXT, VALUE(ref_format), "NAME", "of REF, where it is another one"},
    {"letters", 0, CLI_TEXT, VALUE(letters), "NAME",
     "which capitals are the same as small letters: keep (none; usual with edit), ascii (usual with sclite), all "
     "(Latin, "
     "Greek, Cyrillic)"},
    {"utt2spk", 0, CLI_TEXT, VALUE(utt2spk), "FILE", "lines of utterance and speaker"},
    {"optional", 'D', CLI_FLAG, VALUE(optional), NULL,
     "in trn and stm, words in parentheses, (uh), are right too where they are left out (sclite -D)"},
    {"nbest", 0, CLI_FLAG, VALUE(nbest), NULL, "oracle error rate: of the hypotheses of an utterance, the best counts"},
    {"alignments", 'a', CLI_FLAG, VALUE(alignments), NULL, "print every utterance, word by word"},
    {"confusions", 'c', CLI_INT, VALUE(confusions), "N",
     "print the N most frequent confusions, insertions and deletions; 0: all"},
    {"json", 0, CLI_TEXT, VALUE(json), "FILE", "write everything as JSON; - is standard output, instead of the text"},
    {"draw", 0, CLI_TEXT, VALUE(draw), "WHAT",
     "what the bootstrap draws: utterances (default), speakers, none (no interval, no comparison)"},
    {"replicates", 0, CLI_INT, VALUE(replicates), "N", "how often it draws as many as there are; default 2000"},
    {"seed", 0, CLI_INT, VALUE(seed), "N", "of the draws; default 1. The same seed gives the same numbers"},
    {0}};

const cli_command cmd_score = {
    .name = "score",
    .synopsis = "REF HYP [HYP2]",
    .summary = "counts the words that are wrong: error rates, intervals, comparisons",
    .description =
        "Aligns what was recognised (HYP) with what was said (REF) and counts substitutions, deletions and insertions, "
        "by speaker and in all. WER is their sum divided by the words of REF; SER is the share of utterances that are "
        "not entirely right. With a second system, HYP2, both are scored and compared.\n\n"
        "Formats, told by the name's ending or the content:\n\n"
        "  trn    words (id)                                 sclite\n"
        "  text   id words                                   Kaldi\n"
        "  stm    file channel speaker start end [<labels>] words    REF only, HYP is ctm then\n"
        "  ctm    file channel start duration word [confidence]      without stm, the file is the id\n"
        "  json   an object per line with id and words (objects with word, or strings), or text;\n"
        "         speaker and nbest (a list of such objects or of texts) may be there\n\n"
        "In trn and stm, { a / b c / @ } stands for any of its alternatives, @ for nothing; a word ends before ';', "
        "and a "
        "final '*' is no part of it: all this as sclite has it. Lines that begin with ';' are comments. With stm, "
        "words "
        "of the ctm file belong to the segment in which their middle lies, the last segment of a channel takes what is "
        "left, and segments IGNORE_TIME_SEGMENT_IN_SCORING are left out.\n\n"
        "Scorers (--scorer):\n\n"
        "  sclite  NIST's: a substitution costs 4, a deletion or insertion 3; A-Z are a-z. Of\n"
        "          alignments that cost the same, the last two words are a pair where they can be,\n"
        "          else a deletion is last if that is cheaper than an insertion, else an insertion\n"
        "  edit    plain edit distance, letters as they are; a pair is last only where it is cheaper\n"
        "          than both others. The counts are those of Kaldi's compute-wer; jiwer has the same\n"
        "          sum of errors, and may split it in another way where several alignments are best\n\n"
        "Words are compared in Unicode's composed form (NFC): with either scorer, a letter with an accent is the same "
        "typed as one or as two.\n\n"
        "The speaker is what the reference says (stm, json, --utt2spk), else the part of the id before the first '-', "
        "or "
        "'_' where there is none.\n\n"
        "Utterances without hypothesis count as deletions of all their words, hypotheses without utterance are not "
        "counted. Both are named, and the exit code is 1. (sclite itself leaves out the first kind.)\n\n"
        "The interval holds the middle 95 % of the error rates of --replicates draws, each of as many utterances or "
        "speakers as there are, with replacement (Bisani and Ney 2004). Two systems get the same draws. Beside the "
        "interval of their difference stand two tests of matched pairs. MAPSSWE, NIST's: segments are stretches with "
        "errors of either system, two words apart that both have right; insertions behind an utterance's last word "
        "count "
        "for both systems (NIST's sc_stats forgets those of the second). And the same test over the utterances or "
        "speakers that are drawn. p is the probability of such a difference, in either direction, between systems that "
        "are equally good.\n\n"
        "With --nbest, HYP has several hypotheses for an utterance: ids that end in -1, -2, … as in Kaldi's lists, or "
        "JSON with nbest. The first of those with the fewest errors counts. Without --nbest the first entry of a JSON "
        "list counts.\n\n"
        "The JSON object has reference, scorer, oracle, bootstrap, systems (for each: hypothesis, the counts, wer and "
        "ser "
        "as fractions, interval, speakers, utterance_scores with alignments, extra, confusions) and comparison.",
    .options = options,
    .examples = "trellis score ref.trn hyp.trn\n"
                "trellis score --scorer edit data/test/text decoded.txt --utt2spk data/test/utt2spk --alignments\n"
                "trellis score ref.stm hyp.ctm --confusions 20 --json score.json\n"
                "trellis score text baseline.txt new.txt --draw speakers",
    .least = 2,
    .most = 3,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
