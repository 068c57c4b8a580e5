/* The lexicon. Each pronunciation is one piece of an arena, its word's number followed by its phones, so that the piece
 * itself is the key that finds the same pronunciation again. After the last line the pronunciations are grouped by word
 * with a counting sort, which keeps their order. O(bytes) in all. */
#include "base/fail.h"
#include "base/installed.h"
#include "base/fold_case.h"
#include "base/unicode.h"
#include "corpus/corpus_builder.h"
#include "corpus/lexicon_data.h"

#include <string.h>
#include <unistd.h>

#define BINARY_SAMPLE 4096 /* bytes; programs, pictures and the like have a zero byte in them */
#define FOLDED_SIZE 256    /* bytes of a word that is looked for in other capitals */

typedef struct lexicon_reader {
    trl_lexicon *lexicon;
    const char *path;       /* of the file in hand */
    trl_findings *findings; /* or NULL */
    int numbers;            /* fields between word and phones */
    trl__map known;         /* piece -> its pronunciation's index */
    int32_t *phones;        /* of the line in hand */
    size_t used;            /* lines of the file with a pronunciation */
    size_t capacity;
} lexicon_reader;

static int is_comment(const char *line)
{
    return strncmp(line, ";;;", 3) == 0;
}

/* How many numbers, at most `most`, stand behind the line's word. The line is not changed. */
static int count_numbers(const char *line, int most)
{
    const char *at = line + strspn(line, " \t");
    at += strcspn(at, " \t");
    for (int n = 0; n < most; n++) {
        char field[32];
        double value;
        at += strspn(at, " \t");
        size_t length = strcspn(at, " \t");
        if (length == 0 || length >= sizeof field)
            return n;
        memcpy(field, at, length);
        field[length] = '\0';
        if (trl__parse_double(field, &value) < 0)
            return n;
        at += length;
    }
    return most;
}

/* The number of numbers that all lines share. Ends at the first line that has none. */
static int detect_numbers(const trl__text *text)
{
    int numbers = TRL__LEXICON_NUMBERS, lines = 0;
    char *end = text->bytes + text->size, *next;
    for (char *line = text->bytes + text->position; numbers > 0 && line < end; line = next) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        if (stop > line && stop[-1] == '\r')
            stop--;
        char kept = *stop;
        *stop = '\0';
        if (!is_comment(line) && line[strspn(line, " \t")] != '\0') {
            lines++;
            numbers = count_numbers(line, numbers);
        }
        *stop = kept;
    }
    return lines > 0 ? numbers : 0;
}

/* A line that can't be used: a finding, or without a list an error. */
static int refuse(lexicon_reader *r, int64_t line, const char *message, trl_error *err)
{
    const trl_finding_kind kind = TRL_FINDING_SYNTAX;
    if (r->findings)
        return trl_findings_add(r->findings, kind, r->path, line, NULL, err, "%s; it is left out", message);
    return trl__fail_line(err, TRL_EFORMAT, r->path, line, "%s; %s", message, trl_finding_advice(kind));
}

/* Remarks on a new phone that is rather a probability, or several pronunciations in one line. Single digits from 2 on
 * are vowels of SAMPA. */
static int look_at_phone(lexicon_reader *r, const char *phone, int64_t line, trl_error *err)
{
    double value;
    int number = trl__parse_double(phone, &value) == 0 && !(phone[0] >= '2' && phone[1] == '\0');
    if (!r->findings || (!number && !strchr(phone, '/')))
        return 0;
    return trl_findings_add(r->findings, TRL_FINDING_ODD_PHONE, r->path, line, NULL, err,
                            number ? "%s, a number, is taken as a phone" : "%s, with a slash, is taken as a phone",
                            phone);
}

/* The line's phones into r->phones[1 …]. Returns their number or TRL_ENOMEM. */
static long read_phones(lexicon_reader *r, char *rest, int64_t line, trl_error *err)
{
    size_t count = 0;
    for (char *phone; (phone = trl__next_field(&rest)) && strcmp(phone, "#") != 0;) {
        size_t known = r->lexicon->phones.count;
        long number = trl__strings_add(&r->lexicon->phones, phone, strlen(phone));
        if (number < 0 || TRL_GROW(r->phones, r->capacity, count + 2) < 0)
            return trl__fail_memory(err);
        if ((size_t)number == known && look_at_phone(r, phone, line, err) < 0)
            return TRL_ENOMEM;
        r->phones[++count] = (int32_t)number;
    }
    return (long)count;
}

static int add_pronunciation(lexicon_reader *r, const char *word, size_t phones, float probability, trl_error *err)
{
    trl_lexicon *l = r->lexicon;
    char composed[TRL__LETTERS_BYTES];
    size_t length = trl__word_length(word);
    word = trl__composed(word, &length, composed);
    long number = trl__strings_add(&l->words, word, length);
    if (number < 0)
        return trl__fail_memory(err);
    r->used++;
    r->phones[0] = (int32_t)number;
    size_t size = (phones + 1) * sizeof *r->phones;
    const uint64_t *known = trl__map_find(&r->known, (const char *)r->phones, size);
    if (known) {
        trl__pronunciation *same = &l->pronunciations[*known];
        if (same->probability < probability)
            same->probability = probability;
        return 0;
    }
    int32_t *piece = trl__arena_alloc(&l->arena, size);
    uint64_t index = l->count;
    if (!piece || TRL_GROW(l->pronunciations, l->capacity, l->count + 1) < 0)
        return trl__fail_memory(err);
    memcpy(piece, r->phones, size);
    if (trl__map_add(&r->known, (const char *)piece, size, &index) < 0)
        return trl__fail_memory(err);
    l->pronunciations[l->count++] = (trl__pronunciation){piece, phones, probability};
    return 0;
}

static int read_line(lexicon_reader *r, char *line, int64_t number, trl_error *err)
{
    char *rest = line;
    const char *word = is_comment(line) ? NULL : trl__next_field(&rest);
    if (!word)
        return 0;
    double probability = 1;
    for (int n = 0; n < r->numbers; n++) {
        const char *field = trl__next_field(&rest);
        if (n == 0 && (!field || trl__parse_double(field, &probability) < 0))
            probability = 0;
    }
    if (!((float)probability > 0 && probability <= 1))
        return refuse(r, number, "the probability is not above 0 and up to 1", err);
    long phones = read_phones(r, rest, number, err);
    if (phones < 0)
        return (int)phones;
    if (phones == 0)
        return refuse(r, number, "word without phones", err);
    return add_pronunciation(r, word, (size_t)phones, (float)probability, err);
}

static int group_by_word(trl_lexicon *l, trl_error *err)
{
    trl__pronunciation *grouped = trl__alloc(l->count, sizeof *grouped);
    l->first = trl__alloc_zero(l->words.count + 2, sizeof *l->first);
    if (!grouped || !l->first) {
        trl__free(grouped);
        return trl__fail_memory(err);
    }
    /* first[w + 2] counts, then first[w + 1] is where the next one of w goes, and in the end where w's end. */
    for (size_t i = 0; i < l->count; i++)
        l->first[l->pronunciations[i].piece[0] + 2]++;
    for (size_t w = 0; w < l->words.count; w++)
        l->first[w + 2] += l->first[w + 1];
    for (size_t i = 0; i < l->count; i++)
        grouped[l->first[l->pronunciations[i].piece[0] + 1]++] = l->pronunciations[i];
    trl__free(l->pronunciations);
    l->pronunciations = grouped;
    return 0;
}

/* A lexicon in another encoding would give hundreds of wrong words: it is refused as a whole. */
static int check_text(const char *path, const trl__text *text, trl_error *err)
{
    const char *bytes = text->bytes + text->position;
    size_t size = text->size - text->position, valid = trl__utf8_check(bytes, size);
    if (valid == size)
        return 0;
    if (memchr(bytes, '\0', size < BINARY_SAMPLE ? size : BINARY_SAMPLE))
        return trl__fail(err, TRL_EFORMAT, "%s: not a lexicon: this is not text", path);
    int64_t line = 1;
    for (size_t i = 0; i < valid; i++)
        line += bytes[i] == '\n';
    return trl__fail_line(err, TRL_EFORMAT, path, line,
                          "not valid UTF-8 (byte %02x); save the lexicon as UTF-8 (iconv -f latin1 -t utf-8)",
                          (unsigned char)bytes[valid]);
}

/* All of one file. */
static int read_lines(lexicon_reader *r, const char *path, trl__text *text, trl_error *err)
{
    char *line;
    size_t length;
    int code = check_text(path, text, err);
    if (code == 0 && TRL_GROW(r->phones, r->capacity, 1) < 0)
        code = trl__fail_memory(err);
    r->path = path;
    r->used = 0;
    r->numbers = detect_numbers(text);
    while (code == 0 && trl__text_line(text, &line, &length))
        code = read_line(r, line, text->line, err);
    if (code == 0 && r->used == 0)
        code = trl__fail(err, TRL_EFORMAT, "%s: no pronunciations in this file; its lines must be WORD PHONE PHONE …",
                         path);
    return code;
}

static int begin(lexicon_reader *r, trl_findings *findings, trl_error *err)
{
    *r = (lexicon_reader){.lexicon = trl__alloc_zero(1, sizeof *r->lexicon), .findings = findings};
    return r->lexicon ? 0 : trl__fail_memory(err);
}

/* code: how the reading went. */
static int end(lexicon_reader *r, int code, trl_lexicon **out, trl_error *err)
{
    if (code == 0)
        code = group_by_word(r->lexicon, err);
    trl__map_free(&r->known);
    trl__free(r->phones);
    if (code < 0)
        trl_lexicon_destroy(r->lexicon);
    else
        *out = r->lexicon;
    return code;
}

int trl__lexicon_parse(const char *path, trl__text *text, trl_findings *findings, trl_lexicon **out, trl_error *err)
{
    lexicon_reader r;
    *out = NULL;
    int code = begin(&r, findings, err);
    return code < 0 ? code : end(&r, read_lines(&r, path, text, err), out, err);
}

/* The next name of a list: the longest that is a file, since a comma may be part of its name, else all up to the
 * first comma. *rest becomes NULL behind the last one. NULL: out of memory. */
static char *next_name(trl__arena *arena, const char **rest)
{
    size_t most = strlen(*rest), length = most;
    char *name = trl__arena_copy(arena, *rest, most);
    while (name && length > 0 && access(name, F_OK) != 0) {
        while (length > 0 && name[length - 1] != ',')
            length--;
        if (length > 0)
            name[--length] = '\0';
    }
    if (name && length == 0) {
        length = strcspn(*rest, ",");
        name = trl__arena_copy(arena, *rest, length);
    }
    *rest = length < most ? *rest + length + 1 : NULL;
    return name;
}

static int read_file(lexicon_reader *r, trl__arena *arena, const char *name, trl_error *err)
{
    trl__text text = {0};
    const char *path;
    int code = trl__installed(arena, name, TRL__INSTALLED_LEXICON, &path, err);
    if (code == 0)
        code = trl__text_read(path, &text, err);
    if (code == 0)
        code = read_lines(r, path, &text, err);
    trl__text_free(&text);
    return code;
}

int trl_lexicon_read(const char *path, trl_findings *findings, trl_lexicon **out, trl_error *err)
{
    trl__arena arena = {0};
    lexicon_reader r;
    const char *rest = path;
    *out = NULL;
    int code = begin(&r, findings, err);
    if (code < 0)
        return code;
    do {
        const char *name = next_name(&arena, &rest);
        code = !name             ? trl__fail_memory(err)
               : !*name && *path ? trl__fail(err, TRL_EINVAL, "%s: a name is missing beside a comma", path)
                                 : read_file(&r, &arena, name, err);
    } while (code == 0 && rest);
    code = end(&r, code, out, err);
    trl__arena_free(&arena);
    return code;
}

void trl_lexicon_destroy(trl_lexicon *lexicon)
{
    if (!lexicon)
        return;
    trl__map_free(&lexicon->folded);
    trl__strings_free(&lexicon->words);
    trl__strings_free(&lexicon->phones);
    trl__arena_free(&lexicon->arena);
    trl__free(lexicon->pronunciations);
    trl__free(lexicon->first);
    trl__free(lexicon);
}

size_t trl_lexicon_words(const trl_lexicon *lexicon)
{
    return lexicon->words.count;
}

size_t trl_lexicon_phones(const trl_lexicon *lexicon)
{
    return lexicon->phones.count;
}

const char *trl_lexicon_word(const trl_lexicon *lexicon, size_t word)
{
    return word < lexicon->words.count ? lexicon->words.texts[word] : NULL;
}

const char *trl_lexicon_phone(const trl_lexicon *lexicon, size_t phone)
{
    return phone < lexicon->phones.count ? lexicon->phones.texts[phone] : NULL;
}

long trl_lexicon_find(const trl_lexicon *lexicon, const char *word)
{
    char composed[TRL__LETTERS_BYTES];
    size_t length = strlen(word);
    word = trl__composed(word, &length, composed);
    long found = trl__strings_find(&lexicon->words, word, length);
    if (found >= 0 || lexicon->folded.count == 0 || length >= FOLDED_SIZE)
        return found;
    char folded[FOLDED_SIZE];
    memcpy(folded, word, length + 1);
    trl__fold_case(folded);
    const uint64_t *number = trl__map_find(&lexicon->folded, folded, length);
    return number ? (long)*number : -1;
}

int trl_lexicon_fold_case(trl_lexicon *lexicon, trl_error *err)
{
    for (size_t i = 0; i < lexicon->words.count; i++) {
        uint64_t number = i;
        size_t length = strlen(lexicon->words.texts[i]);
        char *folded = trl__arena_copy(&lexicon->arena, lexicon->words.texts[i], length);
        if (!folded)
            return trl__fail_memory(err);
        trl__fold_case(folded);
        if (trl__map_add(&lexicon->folded, folded, length, &number) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

size_t trl_lexicon_pronunciations(const trl_lexicon *lexicon, size_t word)
{
    return word < lexicon->words.count ? lexicon->first[word + 1] - lexicon->first[word] : 0;
}

size_t trl_lexicon_first(const trl_lexicon *lexicon, size_t word)
{
    return word < lexicon->words.count ? lexicon->first[word] : lexicon->count;
}

trl_pronunciation trl_lexicon_pronunciation(const trl_lexicon *lexicon, size_t word, size_t variant)
{
    if (variant >= trl_lexicon_pronunciations(lexicon, word))
        return (trl_pronunciation){0};
    const trl__pronunciation *p = &lexicon->pronunciations[lexicon->first[word] + variant];
    return (trl_pronunciation){p->piece + 1, p->length, p->probability};
}
