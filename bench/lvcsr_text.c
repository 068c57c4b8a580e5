#include "lvcsr_text.h"
#include "base/installed.h"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/lm.h>

#define TRAIN_TEXT "text/europarl.train150k.en.xz"
#define TEST_TEXT "text/europarl.test1k.en"
#define LONGEST_LINE 16384

enum { SHORTEST = 4, LONGEST = 20, LONGEST_TEST = 30 }; /* words of a sentence that is spoken */

/* ---- What is there ---- */

static const char *dictionary_path(char path[4096])
{
    trl__arena arena = {0};
    struct stat status;
    const char *found;
    int code = trl__installed(&arena, "en-us", TRL__INSTALLED_LEXICON, &found, NULL);
    snprintf(path, 4096, "%s", code == 0 ? found : "");
    trl__arena_free(&arena);
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? path : NULL;
}

const char *lvcsr_text_missing(void)
{
    char path[4096];
    if (!bench_shared(TRAIN_TEXT, path) || !bench_shared(TEST_TEXT, path))
        return "../shared/data/text is not there";
    return dictionary_path(path) ? NULL : "no dictionary of en-us is installed";
}

uint64_t lvcsr_text_hash(void)
{
    char path[3][4096];
    int64_t sizes[3] = {0};
    struct stat status;
    const char *files[] = {bench_shared(TRAIN_TEXT, path[0]), bench_shared(TEST_TEXT, path[1]),
                           dictionary_path(path[2])};
    for (int i = 0; i < 3; i++)
        sizes[i] = files[i] && stat(files[i], &status) == 0 ? (int64_t)status.st_size : 0;
    return trl__hash((const char *)sizes, sizeof sizes);
}

/* ---- Words as they are spoken ---- */

static int is_word(const char *token)
{
    size_t letters = strspn(token, "abcdefghijklmnopqrstuvwxyz'");
    return token[letters] == 0 && token[0] != '\'';
}

/* Europarl's tokens: punctuation goes, "parliament' s" becomes "parliament's". A number or a foreign letter is a word that no dictionary has. */
static void add_spoken(const fst_text *raw, size_t line, fst_text *clean)
{
    for (size_t i = raw->first[line]; i < raw->first[line + 1]; i++) {
        const char *token = raw->words.texts[raw->token[i]];
        const char *next = i + 1 < raw->first[line + 1] ? raw->words.texts[raw->token[i + 1]] : "";
        size_t length = strlen(token);
        char joined[300];
        if (strpbrk(token, "abcdefghijklmnopqrstuvwxyz0123456789") == NULL)
            continue;
        if (token[length - 1] == '\'' && strcmp(next, "s") == 0 && length < sizeof joined - 1) {
            length = (size_t)snprintf(joined, sizeof joined, "%ss", token);
            fst_text_add_word(clean, joined, length);
            i++;
        } else
            fst_text_add_word(clean, token, length - (token[length - 1] == '\''));
    }
    fst_text_end_line(clean);
}

static void read_spoken(const char *name, size_t lines, fst_text *clean)
{
    fst_text raw = {0};
    fst_text_read(&raw, name, lines);
    for (size_t line = 0; line < raw.lines; line++)
        add_spoken(&raw, line, clean);
    fst_text_free(&raw);
}

const char *lvcsr_text_line(const fst_text *text, size_t line, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = text->first[line]; i < text->first[line + 1]; i++) {
        const char *word = text->words.texts[text->token[i]];
        int wrote = snprintf(out + used, size - used, "%s%s", used ? " " : "", word);
        if (wrote < 0 || (size_t)wrote >= size - used) {
            out[0] = 0;
            return out;
        }
        used += (size_t)wrote;
    }
    return out;
}

/* ---- The vocabulary ---- */

typedef struct counted_word {
    size_t count;
    const char *text;
    long place; /* in the dictionary; -1: not there */
} counted_word;

static int more_frequent(const void *a, const void *b)
{
    const counted_word *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->text, y->text);
}

static void choose_vocabulary(lvcsr_text *text)
{
    const fst_text *t = &text->train.text;
    size_t all = trl_lexicon_words(text->dictionary), left = text->sizes.words < all ? text->sizes.words : all;
    counted_word *words = fst_must(calloc(t->words.count + 1, sizeof *words));
    text->chosen = fst_must(calloc(all + 1, 1));
    for (size_t i = 0; i < t->words.count; i++)
        words[i] = (counted_word){0, t->words.texts[i], trl_lexicon_find(text->dictionary, t->words.texts[i])};
    for (size_t i = 0; i < t->tokens; i++)
        words[t->token[i]].count++;
    qsort(words, t->words.count, sizeof *words, more_frequent);
    for (size_t i = 0; i < t->words.count && left > 0; i++)
        if (words[i].place >= 0 && is_word(words[i].text)) {
            text->chosen[words[i].place] = 1;
            left--;
        }
    size_t rest = 0, step = 0;
    for (size_t i = 0; i < all; i++)
        rest += !text->chosen[i];
    for (size_t i = 0; i < all && left > 0; i++) /* evenly through the dictionary: step grows by left, in rests */
        if (!text->chosen[i] && (step += left) >= rest) {
            step -= rest;
            text->chosen[i] = 1;
        }
    free(words);
}

static int can_be_spoken(const lvcsr_text *text, const fst_text *t, size_t line, size_t longest)
{
    size_t length = t->first[line + 1] - t->first[line];
    for (size_t i = t->first[line]; i < t->first[line + 1]; i++) {
        long place = trl_lexicon_find(text->dictionary, t->words.texts[t->token[i]]);
        if (place < 0 || !text->chosen[place])
            return 0;
    }
    return length >= SHORTEST && length <= longest;
}

static void choose_sentences(const lvcsr_text *text, lvcsr_sentences *s, size_t longest)
{
    s->spoken = fst_must(malloc((s->text.lines + 1) * sizeof *s->spoken));
    for (size_t line = 0; line < s->text.lines; line++)
        if (can_be_spoken(text, &s->text, line, longest))
            s->spoken[s->spoken_count++] = line;
}

/* Sentences of the test that stand in the other text as well are not spoken, and none is twice. */
static void leave_out_seen(lvcsr_text *text)
{
    lvcsr_sentences *test = &text->test;
    trl__strings lines = {0};
    char line[LONGEST_LINE];
    unsigned char *seen = fst_must(calloc(test->spoken_count + 1, 1)); /* by number in `lines` */
    size_t count = 0;
    for (size_t i = 0; i < test->spoken_count; i++) {
        const char *words = lvcsr_text_line(&test->text, test->spoken[i], line, sizeof line);
        trl__strings_add(&lines, words, strlen(words));
    }
    for (size_t i = 0; i < text->train.text.lines; i++) {
        const char *words = lvcsr_text_line(&text->train.text, i, line, sizeof line);
        long number = trl__strings_find(&lines, words, strlen(words));
        if (number >= 0)
            seen[number] = 1;
    }
    for (size_t i = 0; i < test->spoken_count; i++) {
        const char *words = lvcsr_text_line(&test->text, test->spoken[i], line, sizeof line);
        long number = trl__strings_find(&lines, words, strlen(words));
        if (number >= 0 && !seen[number]) {
            seen[number] = 1;
            test->spoken[count++] = test->spoken[i];
        }
    }
    test->spoken_count = count;
    trl__strings_free(&lines);
    free(seen);
}

/* ---- All of it ---- */

void lvcsr_text_read(lvcsr_text *text, const lvcsr_text_sizes *sizes)
{
    trl_error err;
    char path[4096];
    *text = (lvcsr_text){.sizes = *sizes};
    bench_check(trl_lexicon_read(dictionary_path(path), NULL, &text->dictionary, &err), &err);
    read_spoken(TRAIN_TEXT, sizes->lines, &text->train.text);
    read_spoken(TEST_TEXT, SIZE_MAX, &text->test.text);
    choose_vocabulary(text);
    choose_sentences(text, &text->train, LONGEST);
    choose_sentences(text, &text->test, LONGEST_TEST);
    leave_out_seen(text);
}

static FILE *create(const char *folder, const char *name, char path[4200])
{
    snprintf(path, 4200, "%.4000s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

static void write_lexicon(const lvcsr_text *text, const char *folder, char path[4200])
{
    FILE *file = create(folder, "lexicon.txt", path);
    for (size_t word = 0; word < trl_lexicon_words(text->dictionary); word++)
        for (size_t i = 0; text->chosen[word] && i < trl_lexicon_pronunciations(text->dictionary, word); i++) {
            trl_pronunciation p = trl_lexicon_pronunciation(text->dictionary, word, i);
            fputs(trl_lexicon_word(text->dictionary, word), file);
            for (size_t phone = 0; phone < p.length; phone++)
                fprintf(file, " %s", trl_lexicon_phone(text->dictionary, (size_t)p.phones[phone]));
            fputc('\n', file);
        }
    fclose(file);
}

void lvcsr_text_write(const lvcsr_text *text, const char *folder)
{
    trl_error err;
    trl_lm *lm;
    char lexicon[4200], sentences[4200], arpa[4200], line[LONGEST_LINE];
    const char *texts = sentences;
    write_lexicon(text, folder, lexicon);
    FILE *file = create(folder, "sentences.txt", sentences);
    for (size_t i = 0; i < text->train.text.lines; i++)
        fprintf(file, "%s\n", lvcsr_text_line(&text->train.text, i, line, sizeof line));
    fclose(file);
    snprintf(arpa, sizeof arpa, "%.4000s/words.arpa", folder);
    trl_lm_options o = {.order = 3, .vocabulary = lexicon, .closed = 1, .prune = text->sizes.prune};
    for (int order = 3; order <= TRL_LM_MOST_ORDER; order++)
        o.cutoff[order] = 2; /* trigrams that were seen once are left out */
    bench_check(trl_lm_train(&texts, 1, &o, &lm, &err), &err);
    bench_check(trl_lm_write(lm, arpa, &err), &err);
    trl_lm_destroy(lm);
    remove(sentences);
}

void lvcsr_text_free(lvcsr_text *text)
{
    fst_text_free(&text->train.text);
    fst_text_free(&text->test.text);
    free(text->train.spoken);
    free(text->test.spoken);
    free(text->chosen);
    trl_lexicon_destroy(text->dictionary);
}
