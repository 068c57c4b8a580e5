/* Scores as text: tables, alignments, confusions. */
#include "score_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 10 /* of missing and extra utterances */

/* Columns that a UTF-8 text takes, every character counted as one. */
static int columns(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* ---- Counts ---- */

static void print_row(FILE *out, const char *name, int width, const trl_counts *c)
{
    fprintf(out, "%s%*s %6" PRIu64 " %8" PRIu64 " %8" PRIu64 " %7" PRIu64 " %7" PRIu64 " %8" PRIu64 " %7.2f %7.2f\n",
            name, width - columns(name), "", c->utterances, c->words, c->correct, c->substitutions, c->deletions,
            c->insertions, 100 * trl_word_error_rate(*c), 100 * trl_sentence_error_rate(*c));
}

void score_print_table(FILE *out, const trl_scored_speaker *speakers, size_t count, trl_counts all)
{
    int width = 7;
    for (size_t i = 0; i < count; i++)
        if (columns(speakers[i].name) > width)
            width = columns(speakers[i].name);
    fprintf(out, "%-*s %6s %8s %8s %7s %7s %8s %7s %7s\n", width, "speaker", "utts", "words", "correct", "subst",
            "deleted", "inserted", "WER %", "SER %");
    for (size_t i = 0; i < count; i++)
        print_row(out, speakers[i].name, width, &speakers[i].counts);
    print_row(out, "all", width, &all);
}

void score_print_speakers(FILE *out, const trl_score *score)
{
    size_t count = trl_score_speakers(score);
    score_print_table(out, count > 0 ? trl_score_speaker(score, 0) : NULL, count, trl_score_total(score));
}

static const char *drawn(const trl_bootstrap *b)
{
    return b->speakers ? "speakers" : "utterances";
}

void score_print_summary(FILE *out, const score_results *r, int system)
{
    const scored_system *s = &r->systems[system];
    trl_counts c = trl_score_total(s->score);
    fprintf(out, "%s: %sWER %.2f %% (%s)", s->path, r->oracle ? "oracle " : "", 100 * trl_word_error_rate(c),
            r->scorer);
    if (r->bootstrap)
        fprintf(out, ", %g %% between %.2f and %.2f (%d draws of %s)", 100 * r->bootstrap->level, 100 * s->interval[0],
                100 * s->interval[1], r->bootstrap->replicates, drawn(r->bootstrap));
    fprintf(out,
            "\n  %" PRIu64 " errors in %" PRIu64 " words: %" PRIu64 " substitutions, %" PRIu64 " deletions, %" PRIu64
            " insertions; SER %.2f %% (%" PRIu64 " of %" PRIu64 ")\n",
            trl_errors(c), c.words, c.substitutions, c.deletions, c.insertions, 100 * trl_sentence_error_rate(c),
            c.wrong, c.utterances);
}

static void print_test(FILE *out, const char *name, const char *unit, const trl_matched_pairs *m)
{
    fprintf(out, "  %s: %zu %s, mean difference %.4f errors, standard deviation %.4f, z %.3f, p %.4g\n", name, m->pairs,
            unit, m->mean, m->deviation, m->z, m->p);
}

void score_print_comparison(FILE *out, const score_results *r)
{
    const trl_comparison *c = &r->comparison;
    fprintf(out,
            "%s less %s: %+.2f points, %g %% between %+.2f and %+.2f; the second is better in %.2f %% of the draws\n",
            r->systems[0].path, r->systems[1].path, 100 * c->difference, 100 * r->bootstrap->level,
            100 * c->interval[0], 100 * c->interval[1], 100 * c->second_better);
    print_test(out, "matched pairs of segments (MAPSSWE)", "segments", &c->segments);
    print_test(out, "matched pairs", drawn(r->bootstrap), &c->units);
}

/* ---- Alignments ---- */

enum { SAID, HEARD, EVAL };

/* One line of the three, each pair as wide as its longer word; stars fill the place of a missing one. */
static void print_line(FILE *out, const char *head, const trl_scored_utterance *u, int which)
{
    fputs(head, out);
    for (size_t i = 0; i < u->pair_count; i++) {
        const trl_word_pair *p = &u->pairs[i];
        int said = p->said ? columns(p->said) : 0, heard = p->heard ? columns(p->heard) : 0;
        int width = said > heard ? said : heard, used = 0;
        const char *word = which == SAID ? p->said : which == HEARD ? p->heard : NULL;
        fputc(' ', out);
        if (word)
            used = fputs(word, out) < 0 ? 0 : columns(word);
        else if (which == EVAL && p->kind != 'C')
            used = fputc(p->kind, out) == EOF ? 0 : 1;
        for (; used < width; used++)
            fputc(!word && which != EVAL ? '*' : ' ', out);
    }
    fputc('\n', out);
}

void score_print_alignments(FILE *out, const trl_score *score)
{
    for (size_t i = 0; i < trl_score_utterances(score); i++) {
        const trl_scored_utterance *u = trl_score_utterance(score, i);
        fprintf(out, "id: %s (speaker %s)%s\n", u->id, trl_score_speaker(score, u->speaker)->name,
                u->missing ? " has no hypothesis" : "");
        fprintf(out, "scores: C %" PRIu64 " S %" PRIu64 " D %" PRIu64 " I %" PRIu64 "\n", u->counts.correct,
                u->counts.substitutions, u->counts.deletions, u->counts.insertions);
        print_line(out, "REF: ", u, SAID);
        print_line(out, "HYP: ", u, HEARD);
        print_line(out, "Eval:", u, EVAL);
        fputc('\n', out);
    }
}

/* ---- Confusions ---- */

int score_print_confusions(FILE *out, const trl_score *score, int most, trl_error *err)
{
    trl_confusion *list;
    size_t count;
    int code = trl_score_confusions(score, &list, &count, err);
    if (code < 0)
        return code;
    size_t shown = most > 0 && (size_t)most < count ? (size_t)most : count;
    fprintf(out, "%zu confusions%s\n", count, shown < count ? ", the most frequent:" : ":");
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "%8" PRIu64 "  %s -> %s\n", list[i].count, list[i].said ? list[i].said : "(inserted)",
                list[i].heard ? list[i].heard : "(deleted)");
    free(list);
    return 0;
}

/* ---- What does not match ---- */

static void say_names(const char *what, const char *const *names, size_t count)
{
    fprintf(stderr, "%s:", what);
    for (size_t i = 0; i < count && i < NAMED; i++)
        fprintf(stderr, " %s", names[i]);
    fputs(count > NAMED ? " …\n" : "\n", stderr);
}

size_t score_say_unmatched(const scored_system *s, int quiet)
{
    const char *missing_names[NAMED], *extra_names[NAMED];
    size_t missing = 0, extra = trl_score_extras(s->score);
    char text[200];
    for (size_t i = 0; i < trl_score_utterances(s->score); i++) {
        const trl_scored_utterance *u = trl_score_utterance(s->score, i);
        if (u->missing && missing++ < NAMED)
            missing_names[missing - 1] = u->id;
    }
    for (size_t i = 0; i < extra && i < NAMED; i++)
        extra_names[i] = trl_score_extra(s->score, i);
    if (missing && !quiet) {
        fprintf(stderr, "trellis: %s: ", s->path);
        snprintf(text, sizeof text, "%zu utterances have no hypothesis, all their words count as deletions", missing);
        say_names(text, missing_names, missing);
    }
    if (extra && !quiet) {
        fprintf(stderr, "trellis: %s: ", s->path);
        snprintf(text, sizeof text, "%zu hypotheses are not in the reference and are not counted", extra);
        say_names(text, extra_names, extra);
    }
    return missing + extra;
}
