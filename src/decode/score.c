/* The alignments of all utterances with their hypotheses, and the sums. Utterances are independent, so that threads share them out. */
#include "base/fail.h"
#include "base/fold_case.h"
#include "base/string_table.h"
#include "decode/score_data.h"
#include "decode/word_network.h"

#include <math.h>
#include <string.h>

trl_score_options trl_score_defaults(void)
{
    return (trl_score_options){0};
}

/* ---- Counts ---- */

uint64_t trl_errors(trl_counts c)
{
    return c.substitutions + c.deletions + c.insertions;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : part ? INFINITY : 0;
}

double trl_word_error_rate(trl_counts c)
{
    return share(trl_errors(c), c.words);
}

double trl_sentence_error_rate(trl_counts c)
{
    return share(c.wrong, c.utterances);
}

void trl__counts_add(trl_counts *sum, const trl_counts *more)
{
    sum->words += more->words;
    sum->correct += more->correct;
    sum->substitutions += more->substitutions;
    sum->deletions += more->deletions;
    sum->insertions += more->insertions;
    sum->utterances += more->utterances;
    sum->wrong += more->wrong;
}

static trl_counts count_pairs(const trl_word_pair *pairs, size_t count)
{
    trl_counts c = {.utterances = 1};
    for (size_t i = 0; i < count; i++) {
        c.words += pairs[i].kind != 'I' && pairs[i].said;
        c.correct += pairs[i].kind == 'C' && pairs[i].said;
        c.substitutions += pairs[i].kind == 'S';
        c.deletions += pairs[i].kind == 'D';
        c.insertions += pairs[i].kind == 'I';
    }
    c.wrong = trl_errors(c) > 0;
    return c;
}

/* ---- Words as numbers ---- */

typedef struct job {
    const trl_transcripts *said, *heard;
    const trl_score_options *options;
    trl__align_costs costs;
    trl_score *score;
    trl__strings words;
    int32_t *said_ids, *heard_ids; /* by word of the transcripts */
    trl__matches matches;
    trl__scratch *scratches; /* two per worker: tables, and what comes out of them */
} job;

static void fold_ascii(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text + 'a' - 'A');
}

char *trl__fold_letters(int letters, char *word, size_t *length, char room[TRL__LETTERS_BYTES])
{
    char *text = trl__composed(word, length, room) == room ? room : word;
    if (letters == TRL_LETTERS_ASCII)
        fold_ascii(text);
    else if (letters == TRL_LETTERS_ALL)
        trl__fold_case(text);
    return text;
}

/* Words in parentheses mean something in NIST's formats only. */
static int is_marked(const trl_transcripts *t)
{
    return t->format == TRL_TRANSCRIPTS_TRN || t->format == TRL_TRANSCRIPTS_STM;
}

static int letters_of(const trl_score_options *o)
{
    if (o->letters != TRL_LETTERS_USUAL)
        return o->letters;
    return o->scorer == TRL_SCORER_SCLITE ? TRL_LETTERS_ASCII : TRL_LETTERS_KEEP;
}

static int number_words(job *j, const trl_transcripts *t, int32_t **ids, trl_error *err)
{
    int letters = letters_of(j->options), optional = j->options->optional_words && is_marked(t);
    trl__scratch copy = {0};
    if (!(*ids = trl__alloc(t->word_count + 1, sizeof **ids)))
        return trl__fail_memory(err);
    for (size_t i = 0; i < t->word_count; i++) {
        const char *word = t->words[i];
        size_t length = strlen(word), inner = optional && trl__is_optional(word);
        char *text = trl__scratch_get(&copy, length + 1, 1);
        long id = -1;
        if (text) {
            char room[TRL__LETTERS_BYTES];
            length -= 2 * inner;
            memcpy(text, word + inner, length);
            text[length] = '\0';
            text = trl__fold_letters(letters, text, &length, room);
            id = trl__strings_add(&j->words, text, length);
        }
        if (id < 0 || id > INT32_MAX) {
            trl__scratch_free(&copy);
            return trl__fail_memory(err);
        }
        (*ids)[i] = (int32_t)id;
    }
    trl__scratch_free(&copy);
    return 0;
}

/* ---- Alignments ---- */

/* A string of words with another: kinds of steps, then pairs. */
static int align_strings(job *j, int worker, trl__word_range said, trl__word_range heard, trl_word_pair *pairs,
                         size_t *count, trl_error *err)
{
    char *kinds = trl__scratch_get(&j->scratches[2 * worker + 1], said.count + heard.count + 1, 1);
    if (!kinds)
        return trl__fail_memory(err);
    int code = trl__word_align(j->said_ids + said.first, said.count, j->heard_ids + heard.first, heard.count, &j->costs,
                               &j->scratches[2 * worker], kinds, count, err);
    size_t a = 0, b = 0;
    for (size_t k = 0; code == 0 && k < *count; k++) {
        pairs[k] = (trl_word_pair){.place = (uint32_t)a, .kind = kinds[k]};
        if (kinds[k] != 'I')
            pairs[k].said = j->said->words[said.first + a++];
        if (kinds[k] != 'D')
            pairs[k].heard = j->heard->words[heard.first + b++];
    }
    return code;
}

/* An insertion stands before the place after the last one that was said. */
static void network_pairs(const trl__network *said, const trl__network *heard, const trl__network_step *steps,
                          size_t count, trl_word_pair *pairs)
{
    uint32_t place = 0;
    for (size_t k = 0; k < count; k++) {
        const trl__network_word *a = &said->words[steps[k].said], *b = &heard->words[steps[k].heard];
        pairs[k] = (trl_word_pair){a->text, b->text, steps[k].said ? a->place : place, steps[k].kind};
        if (steps[k].said)
            place = a->place + 1;
    }
}

static int align_networks(job *j, int worker, trl__word_range said, trl__word_range heard, trl_word_pair *pairs,
                          size_t *count, uint32_t *places, trl_error *err)
{
    trl__network a = {0}, b = {0};
    int optional = j->options->optional_words;
    trl__network_step *steps =
        trl__scratch_get(&j->scratches[2 * worker + 1], said.count + heard.count + 1, sizeof *steps);
    int code = steps ? 0 : trl__fail_memory(err);
    if (code == 0)
        code = trl__network_build(&a, j->said->words + said.first, j->said_ids + said.first, said.count,
                                  optional && is_marked(j->said), err);
    if (code == 0)
        code = trl__network_build(&b, j->heard->words + heard.first, j->heard_ids + heard.first, heard.count,
                                  optional && is_marked(j->heard), err);
    if (code == 0)
        code = trl__network_align(&a, &b, &j->costs, &j->scratches[2 * worker], steps, count, err);
    if (code == 0)
        network_pairs(&a, &b, steps, *count, pairs);
    *places = a.places;
    trl__network_free(&a);
    trl__network_free(&b);
    return code;
}

static int align(job *j, int worker, trl__word_range said, trl__word_range heard, trl_scored_utterance *out,
                 trl_error *err)
{
    int optional = j->options->optional_words;
    trl_word_pair *pairs = trl__alloc(said.count + heard.count + 1, sizeof *pairs);
    if (!pairs)
        return trl__fail_memory(err);
    out->pairs = pairs;
    out->places = (uint32_t)said.count;
    int code = trl__is_network(j->said->words + said.first, said.count, optional && is_marked(j->said)) ||
                       trl__is_network(j->heard->words + heard.first, heard.count, optional && is_marked(j->heard))
                   ? align_networks(j, worker, said, heard, pairs, &out->pair_count, &out->places, err)
                   : align_strings(j, worker, said, heard, pairs, &out->pair_count, err);
    if (code == 0)
        out->counts = count_pairs(pairs, out->pair_count);
    return code < 0 ? trl__fail(err, code, "utterance '%s': %s", out->id, err->text) : 0;
}

/* The first of the hypotheses with the fewest errors. */
static int score_utterance(void *user, size_t index, int worker, trl_error *err)
{
    job *j = user;
    trl_scored_utterance *out = &j->score->utterances[index];
    const trl__transcript *item = &j->said->items[j->matches.source[index]];
    trl__word_range said = {item->first, item->count}, none = {0, 0};
    size_t first = j->matches.first[index], count = j->matches.first[index + 1] - first;
    out->missing = count == 0;
    int code = align(j, worker, said, count ? j->matches.candidates[first] : none, out, err);
    for (size_t i = 1; code == 0 && i < count; i++) {
        trl_scored_utterance other = {.id = out->id, .chosen = (int)i};
        code = align(j, worker, said, j->matches.candidates[first + i], &other, err);
        int better = code == 0 && trl_errors(other.counts) < trl_errors(out->counts);
        trl__free((void *)(better ? out : &other)->pairs);
        if (better)
            *out = other;
    }
    return code;
}

/* ---- Speakers ---- */

/* As sclite has it: up to the first '-', or '_' where there is none. */
static size_t speaker_length(const char *id)
{
    const char *end = strchr(id, '-');
    if (!end)
        end = strchr(id, '_');
    return end && end > id ? (size_t)(end - id) : strlen(id);
}

static int sum_up(job *j, trl_error *err)
{
    trl_score *s = j->score;
    s->speakers = trl__alloc_zero(s->count + 1, sizeof *s->speakers);
    if (!s->speakers)
        return trl__fail_memory(err);
    for (size_t i = 0; i < s->count; i++) {
        trl_scored_utterance *u = &s->utterances[i];
        const char *name = j->said->items[j->matches.source[i]].speaker;
        long speaker = trl__strings_add(&s->names, name ? name : u->id, name ? strlen(name) : speaker_length(u->id));
        if (speaker < 0)
            return trl__fail_memory(err);
        u->speaker = (size_t)speaker;
        s->speakers[speaker].name = s->names.texts[speaker];
        trl__counts_add(&s->speakers[speaker].counts, &u->counts);
        trl__counts_add(&s->total, &u->counts);
    }
    return 0;
}

/* ---- The whole ---- */

static int check(const trl_transcripts *said, const trl_transcripts *heard, const trl_score_options *o, trl_error *err)
{
    if (o->scorer < TRL_SCORER_SCLITE || o->scorer > TRL_SCORER_EDIT)
        return trl__fail(err, TRL_EINVAL, "there is no scorer %d", o->scorer);
    if (o->letters < TRL_LETTERS_USUAL || o->letters > TRL_LETTERS_ALL)
        return trl__fail(err, TRL_EINVAL, "there is no way %d to compare letters", o->letters);
    if (heard->format == TRL_TRANSCRIPTS_STM)
        return trl__fail(err, TRL_EINVAL, "%s: an stm file is a reference; the hypothesis to one is a ctm file",
                         heard->name);
    if (said->format == TRL_TRANSCRIPTS_STM && heard->format != TRL_TRANSCRIPTS_CTM)
        return trl__fail(err, TRL_EINVAL, "%s has times instead of ids (stm), so %s must be a ctm file, not %s",
                         said->name, heard->name, trl_transcripts_format_name(heard->format));
    return 0;
}

static int work(job *j, trl_pool *pool, trl_error *err)
{
    size_t workers = pool ? (size_t)trl_pool_threads(pool) : 1;
    int code = number_words(j, j->said, &j->said_ids, err);
    if (code == 0)
        code = number_words(j, j->heard, &j->heard_ids, err);
    if (code == 0)
        code = trl__match(j->said, j->heard, j->options->oracle, j->score, &j->matches, err);
    if (code == 0 && !(j->scratches = trl__alloc_zero(2 * workers, sizeof *j->scratches)))
        code = trl__fail_memory(err);
    if (code == 0)
        code = trl_pool_for(pool, j->score->count, score_utterance, j, err);
    for (size_t i = 0; j->scratches && i < 2 * workers; i++)
        trl__scratch_free(&j->scratches[i]);
    return code < 0 ? code : sum_up(j, err);
}

int trl_score_create(const trl_transcripts *said, const trl_transcripts *heard, const trl_score_options *options,
                     trl_pool *pool, trl_score **out, trl_error *err)
{
    int code = check(said, heard, options, err);
    if (code < 0)
        return code;
    job j = {.said = said, .heard = heard, .options = options, .score = trl__alloc_zero(1, sizeof *j.score)};
    j.costs = options->scorer == TRL_SCORER_SCLITE ? trl__sclite_costs : trl__edit_costs;
    trl_error local;
    code = j.score ? work(&j, pool, err ? err : &local) : trl__fail_memory(err);
    trl__strings_free(&j.words);
    trl__free(j.said_ids);
    trl__free(j.heard_ids);
    trl__free(j.matches.source);
    trl__free(j.matches.candidates);
    trl__free(j.matches.first);
    trl__free(j.scratches);
    if (code < 0)
        trl_score_destroy(j.score);
    else
        *out = j.score;
    return code;
}

void trl_score_destroy(trl_score *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        trl__free((void *)s->utterances[i].pairs);
    trl__free(s->utterances);
    trl__free(s->speakers);
    trl__strings_free(&s->names);
    trl__strings_free(&s->extras);
    trl__free(s);
}

trl_counts trl_score_total(const trl_score *s)
{
    return s->total;
}

size_t trl_score_utterances(const trl_score *s)
{
    return s->count;
}

const trl_scored_utterance *trl_score_utterance(const trl_score *s, size_t index)
{
    return &s->utterances[index];
}

size_t trl_score_speakers(const trl_score *s)
{
    return s->names.count;
}

const trl_scored_speaker *trl_score_speaker(const trl_score *s, size_t index)
{
    return &s->speakers[index];
}

size_t trl_score_extras(const trl_score *s)
{
    return s->extras.count;
}

const char *trl_score_extra(const trl_score *s, size_t index)
{
    return s->extras.texts[index];
}
