#include "corpus/written_words.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/string_table.h"
#include "base/text_file.h"
#include "base/unicode.h"
#include "corpus/token_marks.h"
#include "corpus/token_split.h"

#include <string.h>

#define MARKS_MOST 8 /* at either end of a token, that are taken off one by one; more are taken off at once */

struct trl__written_words {
    const trl_lexicon *lexicon;
    int indexed;
    trl__map
        tidied; /* a word of the lexicon with apostrophes and hyphens of one kind, where that changes it -> the word */
    trl__map folded;       /* a word in small letters -> the first such word */
    trl__map replacements; /* -> place in `spoken` */
    const char **spoken;
    size_t spoken_count, spoken_capacity;
    trl__arena arena;
    trl__strings tokens;
    trl__spoken_words *answers; /* by token */
    size_t answer_capacity;
    char *made; /* the answer in hand: its words */
    size_t used, made_capacity;
    int replaced; /* a replacement is part of it */
};

/* ---- Looking up ---- */

static int index_word(trl__written_words *w, size_t number)
{
    int32_t letters[TRL__LETTERS_MOST];
    char text[TRL__LETTERS_BYTES];
    const char *word = trl_lexicon_word(w->lexicon, number);
    uint64_t value = number;
    long count = trl__letters_of(word, strlen(word), 0, letters);
    if (count < 0)
        return 0; /* too long: must be written exactly so */
    size_t length = trl__letters_text(letters, trl__tidy_letters(letters, (size_t)count), text);
    if (strcmp(text, word) != 0) {
        const char *key = trl__arena_copy(&w->arena, text, length);
        if (!key || trl__map_add(&w->tidied, key, length, &value) < 0)
            return -1;
    }
    count = trl__letters_of(text, length, 1, letters);
    if (count < 0)
        return 0;
    length = trl__letters_text(letters, (size_t)count, text);
    const char *key = trl__arena_copy(&w->arena, text, length);
    value = number;
    return key && trl__map_add(&w->folded, key, length, &value) >= 0 ? 0 : -1;
}

/* Most corpora are written in words of the lexicon, and need no index. */
static int make_index(trl__written_words *w)
{
    for (size_t i = 0; !w->indexed && i < trl_lexicon_words(w->lexicon); i++)
        if (index_word(w, i) < 0)
            return -1;
    w->indexed = 1;
    return 0;
}

static const char *found_in(const trl__written_words *w, const trl__map *map, const char *text, size_t length)
{
    const uint64_t *number = trl__map_find(map, text, length);
    return number ? trl_lexicon_word(w->lexicon, (size_t)*number) : NULL;
}

static const char *exactly(const trl__written_words *w, const char *text)
{
    long number = trl_lexicon_find(w->lexicon, text);
    return number < 0 ? NULL : trl_lexicon_word(w->lexicon, (size_t)number);
}

static const char *replacement(const trl__written_words *w, const char *text, size_t length, int *is_replaced)
{
    const uint64_t *place = trl__map_find(&w->replacements, text, length);
    *is_replaced = place != NULL;
    return place ? w->spoken[*place] : NULL;
}

static const char *in_small_letters(const trl__written_words *w, const char *text, size_t length, int *is_replaced)
{
    int32_t letters[TRL__LETTERS_MOST];
    char small[TRL__LETTERS_BYTES];
    long count = trl__letters_of(text, length, 1, letters);
    if (count < 0)
        return NULL;
    length = trl__letters_text(letters, (size_t)count, small);
    const char *word = exactly(w, small);
    if (!word)
        word = found_in(w, &w->folded, small, length);
    return word ? word : replacement(w, small, length, is_replaced);
}

/* The words that these letters stand for, NULL: none are known. */
static const char *look_up(const trl__written_words *w, const int32_t *letters, size_t count, int *is_replaced)
{
    char text[TRL__LETTERS_BYTES];
    size_t length = trl__letters_text(letters, count, text);
    *is_replaced = 0;
    const char *word = length > 0 ? exactly(w, text) : NULL;
    if (word || length == 0)
        return word;
    word = replacement(w, text, length, is_replaced);
    if (!word)
        word = found_in(w, &w->tidied, text, length);
    return word ? word : in_small_letters(w, text, length, is_replaced);
}

static int is_word(void *user, const int32_t *letters, size_t count)
{
    int is_replaced;
    return look_up(user, letters, count, &is_replaced) != NULL;
}

/* ---- The answer in hand ---- */

static int append(trl__written_words *w, const char *words)
{
    size_t length = strlen(words);
    if (length == 0)
        return 0;
    if (TRL_GROW(w->made, w->made_capacity, w->used + length + 2) < 0)
        return -1;
    if (w->used > 0)
        w->made[w->used++] = ' ';
    memcpy(w->made + w->used, words, length + 1);
    w->used += length;
    return 0;
}

static int append_letters(trl__written_words *w, const int32_t *letters, size_t count)
{
    char text[TRL__LETTERS_BYTES];
    trl__letters_text(letters, count, text);
    return append(w, text);
}

/* ---- Tokens and their pieces ---- */

typedef struct piece {
    const int32_t *letters;
    size_t count;      /* of letters */
    const char *words; /* what it was found as, or NULL */
    int is_replaced, is_bracketed;
} piece;

static int is_bracketed(const int32_t *letters, size_t count)
{
    int32_t closing = trl__closing_bracket(letters[0]);
    return closing && count > 2 && letters[count - 1] == closing;
}

static size_t marks_before(const int32_t *letters, size_t count)
{
    size_t marks = 0;
    while (marks < count && trl__is_mark(letters[marks]))
        marks++;
    return marks;
}

static size_t marks_behind(const int32_t *letters, size_t count)
{
    size_t marks = 0;
    while (marks < count && trl__is_mark(letters[count - 1 - marks]))
        marks++;
    return marks;
}

/* Takes marks off until something is found; afterwards the piece is what was found, or what is in brackets, or what
 * is left without marks. */
static void find_within(trl__written_words *w, piece *p)
{
    size_t before = marks_before(p->letters, p->count), behind = marks_behind(p->letters, p->count);
    p->words = look_up(w, p->letters, p->count, &p->is_replaced);
    if (before == p->count) {
        p->count = p->words ? p->count : 0;
        return;
    }
    size_t skip = before > MARKS_MOST ? before - MARKS_MOST : 0, cut = behind > MARKS_MOST ? behind - MARKS_MOST : 0;
    const int32_t *letters = p->letters + skip;
    size_t count = p->count - skip - cut;
    before -= skip;
    behind -= cut;
    for (size_t off = 0; !p->words && !p->is_bracketed && off <= before + behind; off++)
        for (size_t last = off < behind ? off : behind; off - last <= before; last--) {
            p->letters = letters + (off - last);
            p->count = count - off;
            p->words = look_up(w, p->letters, p->count, &p->is_replaced);
            p->is_bracketed = !p->words && is_bracketed(p->letters, p->count);
            if (p->words || p->is_bracketed || last == 0)
                break;
        }
}

/* Dashes, quotes and the like; several full stops or hyphens are a dash too. */
static size_t separators_at(const int32_t *letters, size_t at, size_t count)
{
    size_t end = at;
    while (end < count &&
           (trl__is_separator(letters[end]) ||
            ((letters[end] == '.' || letters[end] == '-') && ((end > at && letters[end - 1] == letters[end]) ||
                                                              (end + 1 < count && letters[end + 1] == letters[end])))))
        end++;
    return end - at;
}

/* A piece without separators. Returns how many parts it has, or -1: out of memory. */
static long add_piece(trl__written_words *w, piece *p)
{
    trl__part parts[TRL__PARTS_MOST];
    find_within(w, p);
    w->replaced |= p->is_replaced;
    if (p->words)
        return append(w, p->words) < 0 ? -1 : 1;
    size_t count = p->is_bracketed ? 0 : trl__split_token(p->letters, p->count, is_word, w, parts);
    if (count == 0)
        return append_letters(w, p->letters, p->count) < 0 ? -1 : p->count > 0;
    for (size_t i = 0; i < count; i++) {
        int is_replaced;
        const char *words = look_up(w, p->letters + parts[i].first, parts[i].end - parts[i].first, &is_replaced);
        w->replaced |= is_replaced;
        if (append(w, words) < 0)
            return -1;
    }
    return (long)count;
}

/* What nobody has as a whole. */
static long add_pieces(trl__written_words *w, const int32_t *letters, size_t count)
{
    long parts = 0, more = 0;
    for (size_t at = 0, end; more >= 0 && at < count; at = end + separators_at(letters, end, count)) {
        end = at;
        while (end < count && separators_at(letters, end, count) == 0)
            end++;
        piece p = {.letters = letters + at, .count = end - at};
        more = end > at ? add_piece(w, &p) : 0;
        parts += more;
    }
    return more < 0 ? -1 : parts;
}

static int find_token(trl__written_words *w, const char *token, size_t length, trl_text_change *change)
{
    int32_t letters[TRL__LETTERS_MOST];
    const char *exact = exactly(w, token);
    *change = TRL_TEXT_LETTERS;
    if (exact)
        return append(w, exact);
    long all = trl__letters_of(token, length, 0, letters);
    if (all < 0)
        return append(w, token);
    if (make_index(w) < 0)
        return -1;
    piece whole = {.letters = letters, .count = trl__tidy_letters(letters, (size_t)all)};
    size_t count = whole.count;
    if (count > 0)
        find_within(w, &whole);
    w->replaced |= whole.is_replaced;
    *change = whole.count < count ? TRL_TEXT_MARKS : TRL_TEXT_LETTERS;
    if (whole.words)
        return append(w, whole.words);
    if (whole.is_bracketed)
        return append_letters(w, whole.letters, whole.count);
    long parts = add_pieces(w, whole.letters, whole.count);
    if (parts > 1)
        *change = TRL_TEXT_SPLIT;
    return parts < 0 ? -1 : 0;
}

const trl__spoken_words *trl__written_token(trl__written_words *w, const char *token, size_t length)
{
    size_t known = w->tokens.count;
    long number = trl__strings_add(&w->tokens, token, length);
    if (number < 0)
        return NULL;
    trl__spoken_words *answer = (size_t)number < known ? &w->answers[number] : NULL;
    if (answer && answer->words) {
        answer->times++;
        return answer;
    }
    if (TRL_GROW(w->answers, w->answer_capacity, w->tokens.count) < 0 || TRL_GROW(w->made, w->made_capacity, 1) < 0)
        return NULL;
    answer = &w->answers[number];
    *answer = (trl__spoken_words){.written = w->tokens.texts[number], .times = 1};
    w->used = 0;
    w->made[0] = '\0';
    w->replaced = 0;
    if (find_token(w, answer->written, length, &answer->change) < 0)
        return NULL;
    for (const char *c = w->made; *c; c++)
        answer->count += c == w->made || *c == ' ';
    if (strcmp(w->made, answer->written) == 0)
        answer->change = TRL_TEXT_SAME;
    else if (w->replaced)
        answer->change = TRL_TEXT_REPLACED;
    else if (answer->count == 0)
        answer->change = TRL_TEXT_LEFT_OUT;
    answer->words = trl__arena_copy(&w->arena, w->made, w->used);
    return answer->words ? answer : NULL;
}

const trl__spoken_words *trl__written_tokens(const trl__written_words *w, size_t *count)
{
    *count = w->tokens.count;
    return w->answers;
}

/* ---- Texts ---- */

/* The end of the brackets of several tokens that this one opens, or NULL. */
static const char *bracket_end(const char *token)
{
    int32_t closing = *token == '(' ? 0 : trl__closing_bracket(*token);
    const char *end = closing && token[1] != ' ' ? strchr(token, (int)closing) : NULL;
    if (!end || end[-1] == ' ' || memchr(token + 1, *token, (size_t)(end - token - 1)) ||
        !memchr(token, ' ', (size_t)(end - token)))
        return NULL;
    return end;
}

static int put(trl__spoken_text *t, const char *words, size_t length, uint32_t count)
{
    if (TRL_GROW(t->text, t->text_capacity, t->used + length + 2) < 0 ||
        TRL_GROW(t->counts, t->count_capacity, t->tokens + 1) < 0)
        return -1;
    if (t->used > 0 && length > 0)
        t->text[t->used++] = ' ';
    memcpy(t->text + t->used, words, length);
    t->used += length;
    t->text[t->used] = '\0';
    t->counts[t->tokens++] = count;
    return 0;
}

int trl__written_text(trl__written_words *w, const char *text, trl__spoken_text *t, trl_error *err)
{
    const char *kept_to = NULL;
    t->used = t->tokens = 0;
    t->changed = 0;
    if (TRL_GROW(t->text, t->text_capacity, 1) < 0)
        return trl__fail_memory(err);
    t->text[0] = '\0';
    for (const char *token = text; *token;) {
        size_t length = strcspn(token, " ");
        const char *end = kept_to ? NULL : bracket_end(token);
        kept_to = end ? end : kept_to;
        const trl__spoken_words *s = kept_to || length == 0 ? NULL : trl__written_token(w, token, length);
        if (!kept_to && length > 0 && !s)
            return trl__fail_memory(err);
        if (length > 0 && put(t, s ? s->words : token, s ? strlen(s->words) : length, s ? s->count : 1) < 0)
            return trl__fail_memory(err);
        t->changed |= s && s->change != TRL_TEXT_SAME;
        kept_to = kept_to && kept_to < token + length ? NULL : kept_to;
        token += length + (token[length] == ' ');
    }
    return 0;
}

void trl__spoken_text_free(trl__spoken_text *t)
{
    trl__free(t->text);
    trl__free(t->counts);
    *t = (trl__spoken_text){0};
}

/* ---- Replacements ---- */

/* The words as the lexicon has them, as far as it does. */
static const char *known_words(trl__written_words *w, char *fields)
{
    const char *field;
    w->used = 0;
    while ((field = trl__next_field(&fields))) {
        int32_t letters[TRL__LETTERS_MOST];
        int is_replaced = 0;
        const char *word = exactly(w, field);
        long count = word ? -1 : trl__letters_of(field, strlen(field), 0, letters);
        if (count >= 0)
            word = look_up(w, letters, trl__tidy_letters(letters, (size_t)count), &is_replaced);
        if (append(w, word && !is_replaced ? word : field) < 0)
            return NULL;
    }
    return trl__arena_copy(&w->arena, w->used ? w->made : "", w->used);
}

static int read_replacement(trl__written_words *w, const char *path, char *line, int64_t number, trl_error *err)
{
    int32_t letters[TRL__LETTERS_MOST];
    char text[TRL__LETTERS_BYTES], *tab = strchr(line, '\t');
    if (line[strspn(line, " \t")] == '\0')
        return 0;
    if (!tab)
        return trl__fail_line(err, TRL_EFORMAT, path, number,
                              "no tab; a line of replacements is what is written, a tab, and what is said");
    *tab = '\0';
    char *written = trl__trim(line);
    long count = trl__letters_of(written, strlen(written), 0, letters);
    if (count <= 0 || strchr(written, ' '))
        return trl__fail_line(err, TRL_EFORMAT, path, number,
                              "what stands before the tab must be one word as it is written, without blanks");
    size_t length = trl__letters_text(letters, trl__tidy_letters(letters, (size_t)count), text);
    const char *key = trl__arena_copy(&w->arena, text, length), *spoken = known_words(w, tab + 1);
    uint64_t place = w->spoken_count;
    if (!key || !spoken || TRL_GROW(w->spoken, w->spoken_capacity, w->spoken_count + 1) < 0)
        return trl__fail_memory(err);
    int added = trl__map_add(&w->replacements, key, length, &place);
    if (added == 0)
        return trl__fail_line(err, TRL_EFORMAT, path, number, "%s has a replacement already", written);
    w->spoken[w->spoken_count++] = spoken;
    return added < 0 ? trl__fail_memory(err) : 0;
}

static int read_replacements(trl__written_words *w, const char *path, trl_error *err)
{
    trl__text text;
    char *line;
    size_t length;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    if (make_index(w) < 0)
        code = trl__fail_memory(err);
    while (code == 0 && trl__text_line(&text, &line, &length))
        code = trl__utf8_check(line, length) < length
                   ? trl__fail_line(err, TRL_EFORMAT, path, text.line, "not valid UTF-8")
                   : read_replacement(w, path, line, text.line, err);
    trl__text_free(&text);
    return code;
}

int trl__written_create(const trl_lexicon *lexicon, const char *replace, trl__written_words **out, trl_error *err)
{
    trl__written_words *w = *out = trl__alloc_zero(1, sizeof *w);
    if (!w)
        return trl__fail_memory(err);
    w->lexicon = lexicon;
    int code = replace ? read_replacements(w, replace, err) : 0;
    if (code == 0)
        return 0;
    trl__written_destroy(w);
    *out = NULL;
    return code;
}

void trl__written_destroy(trl__written_words *w)
{
    if (!w)
        return;
    trl__map_free(&w->tidied);
    trl__map_free(&w->folded);
    trl__map_free(&w->replacements);
    trl__strings_free(&w->tokens);
    trl__arena_free(&w->arena);
    trl__free(w->spoken);
    trl__free(w->answers);
    trl__free(w->made);
    trl__free(w);
}
