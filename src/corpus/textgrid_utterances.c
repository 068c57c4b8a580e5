/* Utterances out of a TextGrid. Every interval tier is a speaker and every interval with text an utterance, except in
 * the alignments that Montreal Forced Aligner and others write: there a tier of words stands beside one of phones, and
 * the words together are one transcript. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "corpus/textgrid.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OVERLAP_MOST 0.001 /* seconds: what rounding may do to the intervals of a tier */

enum role { SPEAKER, WORDS, PHONES, ROLES };

typedef struct grid_reader {
    trl_corpus *corpus;
    const trl__sound *sound;
    const char *path;          /* of the TextGrid */
    trl__strings names[ROLES]; /* of the tiers in each role; "" without NAME */
    trl__arena arena;
} grid_reader;

/* A part of the sound with its words; `overlap` > 0: its tier has spoken on to there. */
static int add_interval(grid_reader *r, const char *tier, const char *speaker, const trl__interval *interval,
                        double overlap, trl_error *err)
{
    if (interval->end < 0 || !trl__part_is_valid(interval->start, interval->end))
        return trl_findings_add(r->corpus->findings, TRL_FINDING_SEGMENT, r->path, interval->line, NULL, err,
                                "tier %s: from %g s to %g s is no part of a sound", tier, interval->start,
                                interval->end);
    char part[TRL__PART_SIZE];
    trl__part_suffix(part, interval->start, interval->end);
    size_t size = strlen(r->sound->name) + strlen(tier) + sizeof part + 1, number;
    char *id = trl__arena_alloc(&r->arena, size);
    if (!id)
        return trl__fail_memory(err);
    snprintf(id, size, "%s-%s%s", r->sound->name, tier, part);
    trl_utterance u = {.id = id,
                       .speaker = speaker,
                       .path = r->sound->path,
                       .channel = -1,
                       .start = interval->start,
                       .end = interval->end,
                       .source = r->path,
                       .line = interval->line};
    int code = trl__corpus_add(r->corpus, &u, &number, err);
    if (code == 0)
        code = trl__corpus_set_text(r->corpus, number, interval->text, strlen(interval->text), r->path, interval->line,
                                    err);
    if (code == 0 && overlap > interval->start + OVERLAP_MOST)
        code = trl__corpus_report(r->corpus, number, TRL_FINDING_SEGMENT, r->path, interval->line, err,
                                  "tier %s: starts at %g s, but an interval before it ends at %g s", tier,
                                  interval->start, overlap);
    return code < 0 ? code : 0;
}

static int has_words(const trl__interval *interval)
{
    return interval->text[strspn(interval->text, " \t\r\n\v\f")] != '\0';
}

/* Each interval with text is an utterance of the tier's speaker. */
static int add_tier(grid_reader *r, const trl__tier *tier, int alone, trl_error *err)
{
    const char *speaker = (alone && r->sound->in_sub_folder) || !*tier->name ? r->sound->speaker : tier->name;
    double spoken = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < tier->count; i++) {
        const trl__interval *interval = &tier->intervals[i];
        if (!has_words(interval))
            continue;
        code = add_interval(r, tier->name, speaker, interval, spoken, err);
        spoken = interval->end > spoken ? interval->end : spoken;
    }
    return code;
}

/* ---- TextGrids that hold an alignment: tiers "words" and "phones", or "NAME - words" and "NAME - phones" ---- */

/* What the tier is called, alone or behind "NAME - "; *name is the length of NAME. */
static enum role role_of(const char *tier, size_t *name)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {{"words", WORDS},     {"word", WORDS},     {"phones", PHONES},   {"phone", PHONES},
                 {"phonemes", PHONES}, {"phoneme", PHONES}, {"segments", PHONES}, {"segment", PHONES},
                 {"states", PHONES},   {"state", PHONES}};
    const char *last = tier;
    for (const char *at = tier; (at = strstr(at, " - ")); at += 3)
        last = at + 3;
    *name = last > tier ? (size_t)(last - tier) - 3 : 0;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcasecmp(last, roles[i].name) == 0)
            return roles[i].role;
    return SPEAKER;
}

static int gather_roles(grid_reader *r, const trl__textgrid *grid, trl_error *err)
{
    for (size_t t = 0; t < grid->count; t++) {
        size_t length;
        const char *name = grid->tiers[t].name;
        enum role role = role_of(name, &length);
        if (trl__strings_add(&r->names[role], name, length) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

/* Words count as such only beside phones of the same NAME, and the other way round. */
static enum role role_in_grid(const grid_reader *r, const char *tier, size_t *name)
{
    enum role role = role_of(tier, name);
    return role != SPEAKER && trl__strings_find(&r->names[role == WORDS ? PHONES : WORDS], tier, *name) >= 0 ? role
                                                                                                             : SPEAKER;
}

/* From the first word to the last, with all words in one text. .text is NULL when memory is out. */
static trl__interval join_words(grid_reader *r, const trl__tier *tier)
{
    trl__interval all = {0, 0, "", 0};
    size_t size = 1;
    for (size_t i = 0; i < tier->count; i++)
        size += strlen(tier->intervals[i].text) + 1;
    char *to = trl__arena_alloc(&r->arena, size);
    all.text = to;
    for (size_t i = 0; to && i < tier->count; i++) {
        const trl__interval *word = &tier->intervals[i];
        if (!has_words(word))
            continue;
        if (all.line == 0)
            all = (trl__interval){word->start, word->end, all.text, word->line};
        all.end = word->end > all.end ? word->end : all.end;
        size_t length = strlen(word->text);
        memcpy(to, word->text, length);
        to += length;
        *to++ = ' ';
    }
    if (to)
        *to = '\0';
    return all;
}

/* The words are one utterance: the whole sound's if this is the only alignment, else the part they are in. */
static int add_alignment(grid_reader *r, const trl__tier *words, size_t name_length, trl_error *err)
{
    size_t number;
    char *name = trl__arena_copy(&r->arena, words->name, name_length);
    trl__interval all = join_words(r, words);
    if (!name || !all.text)
        return trl__fail_memory(err);
    if (all.line == 0)
        return 0;
    trl__sound whole = *r->sound;
    whole.speaker = *name ? name : r->sound->speaker;
    if (r->names[WORDS].count > 1)
        return add_interval(r, name, whole.speaker, &all, 0, err);
    int code = trl__sound_add(r->corpus, &whole, &number, err);
    if (code == 0)
        code = trl__corpus_set_text(r->corpus, number, all.text, strlen(all.text), r->path, all.line, err);
    return code < 0 ? code : 0;
}

static int add_tiers(grid_reader *r, const trl__textgrid *grid, trl_error *err)
{
    const char *words = NULL;
    size_t before = r->corpus->count, length;
    int code = 0;
    for (size_t t = 0; code == 0 && t < grid->count; t++) {
        const trl__tier *tier = &grid->tiers[t];
        enum role role = role_in_grid(r, tier->name, &length);
        if (role == SPEAKER)
            code = add_tier(r, tier, grid->count == 1, err);
        if (role == WORDS)
            code = add_alignment(r, tier, length, err);
        if (role == WORDS && !words)
            words = tier->name;
    }
    if (code < 0 || !words || r->corpus->count == before)
        return code;
    return trl_findings_add(r->corpus->findings, TRL_FINDING_ALIGNMENT, r->path, 0, NULL, err,
                            "tier '%s' stands beside one of phones, so these are no speakers: the words are taken as "
                            "one transcript, the phones are passed over",
                            words);
}

int trl__textgrid_add(trl_corpus *corpus, const trl__sound *sound, const trl__textgrid *grid, const char *path,
                      trl_error *err)
{
    grid_reader r = {.corpus = corpus, .sound = sound, .path = path};
    int code = gather_roles(&r, grid, err);
    if (code == 0)
        code = add_tiers(&r, grid, err);
    for (int role = 0; role < ROLES; role++)
        trl__strings_free(&r.names[role]);
    trl__arena_free(&r.arena);
    return code;
}
