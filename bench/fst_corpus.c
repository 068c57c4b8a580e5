/* Reading Europarl, or making up a text in its stead. */
#include "fst_corpus.h"
#include "base/random.h"
#include "base/text_file.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *fst_must(void *block)
{
    if (!block) {
        fputs("trellis-bench: out of memory\n", stderr);
        exit(3);
    }
    return block;
}

/* ---- A text ---- */

void fst_text_add_word(fst_text *text, const char *word, size_t length)
{
    long id = trl__strings_add(&text->words, word, length);
    if (id < 0 || TRL_GROW(text->token, text->token_capacity, text->tokens + 1) < 0)
        fst_must(NULL);
    text->token[text->tokens++] = (int32_t)id;
}

void fst_text_end_line(fst_text *text)
{
    if (TRL_GROW(text->first, text->line_capacity, text->lines + 2) < 0)
        fst_must(NULL);
    text->first[0] = 0;
    text->first[++text->lines] = text->tokens;
}

int32_t fst_text_words(const fst_text *text, size_t lines)
{
    int32_t most = -1;
    for (size_t i = 0; i < text->first[lines]; i++)
        most = text->token[i] > most ? text->token[i] : most;
    return most + 1;
}

void fst_text_free(fst_text *text)
{
    trl__strings_free(&text->words);
    trl__free(text->token);
    trl__free(text->first);
}

/* ---- Europarl ---- */

static void add_line(fst_text *text, char *line)
{
    for (char *word; (word = trl__next_field(&line));)
        fst_text_add_word(text, word, strlen(word));
    fst_text_end_line(text);
}

/* Up to `most` lines; the rest is read too, so that xz ends well when the file is whole. */
static void read_packed(fst_text *text, const char *name, size_t most)
{
    char path[4096], command[4200];
    char *line = NULL;
    size_t room = 0;
    snprintf(command, sizeof command, "xz -dc '%s'", bench_shared(name, path));
    FILE *pipe = popen(command, "r");
    for (ssize_t length; pipe && (length = getline(&line, &room, pipe)) > 0;)
        if (text->lines < most) {
            line[length - (line[length - 1] == '\n')] = 0;
            add_line(text, line);
        }
    free(line);
    if (!pipe || pclose(pipe) != 0 || text->lines == 0) {
        fprintf(stderr, "trellis-bench: `%s` failed; is xz installed (Debian: xz-utils)?\n", command);
        exit(3);
    }
}

static void read_plain(fst_text *text, const char *name, size_t most)
{
    char path[4096], *line;
    size_t length;
    trl_error err;
    trl__text file;
    bench_check(trl__text_read(bench_shared(name, path), &file, &err), &err);
    while (text->lines < most && trl__text_line(&file, &line, &length))
        add_line(text, line);
    trl__text_free(&file);
}

void fst_text_read(fst_text *text, const char *name, size_t most)
{
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".xz") == 0)
        read_packed(text, name, most);
    else
        read_plain(text, name, most);
}

/* ---- A text without Europarl ---- */

enum { LONGEST = 40, TEST_LINES = 1000, SEED = 11 };

/* Word r with a probability like 1 / (r + 2.7): Zipf's law by inversion. */
static int draw_word(int words, uint64_t line, uint64_t index)
{
    return (int)(2.7 * pow((words + 2.7) / 2.7, trl__random_uniform(SEED, line, index)) - 2.7);
}

static void add_numbered(fst_text *text, char prefix, int number)
{
    char word[16];
    int length = snprintf(word, sizeof word, "%c%d", prefix, number);
    fst_text_add_word(text, word, (size_t)length);
}

/* A word often follows the same others, so that bigrams repeat. Each has three translations; neighbours change places
 * now and then. */
static void make_line(fst_text *french, fst_text *english, int words, uint64_t line)
{
    int length = 3 + (int)(trl__random_bits(SEED, line, 0) % (LONGEST - 3)), sentence[LONGEST], last = 0;
    for (int i = 0; i < length; i++) {
        uint32_t bits = trl__random_bits(SEED + 1, line, (uint64_t)i);
        int drawn = draw_word(words, line, 1 + (uint64_t)i);
        sentence[i] = last = bits % 4 ? (last * 7 + drawn % 23) % words : drawn;
    }
    for (int i = 0; english && i < length; i++)
        add_numbered(english, 'e', sentence[i]);
    for (int i = 0; i < length; i++) {
        uint32_t bits = trl__random_bits(SEED + 2, line, (uint64_t)i);
        int at = bits % 8 == 0 && i + 1 < length ? i + 1 : i, choice = (int)((bits >> 8) % 8);
        add_numbered(french, 'f', (sentence[at] * 3 + (choice < 5 ? 0 : choice - 5)) % (2 * words));
    }
}

static void make_corpus(fst_corpus *corpus, size_t lines)
{
    int words = lines < 300 ? 100 : lines > 60000 ? 20000 : (int)lines / 3;
    corpus->synthetic = 1;
    for (size_t i = 0; i < lines; i++) {
        make_line(&corpus->french, &corpus->english, words, i);
        fst_text_end_line(&corpus->french);
        fst_text_end_line(&corpus->english);
    }
    for (size_t i = 0; i < TEST_LINES; i++) {
        make_line(&corpus->test, NULL, words, ((uint64_t)1 << 32) + i);
        fst_text_end_line(&corpus->test);
    }
}

void fst_corpus_read(fst_corpus *corpus, size_t lines, int synthetic)
{
    char path[4096];
    *corpus = (fst_corpus){0};
    if (synthetic || !bench_shared("text/europarl.train150k.fr.xz", path)) {
        make_corpus(corpus, lines);
        return;
    }
    fst_text_read(&corpus->french, "text/europarl.train150k.fr.xz", lines);
    fst_text_read(&corpus->english, "text/europarl.train150k.en.xz", lines);
    fst_text_read(&corpus->test, "text/europarl.test1k.fr", SIZE_MAX);
    if (corpus->french.lines != corpus->english.lines) {
        fputs("trellis-bench: the two languages of Europarl have different numbers of lines\n", stderr);
        exit(3);
    }
}

void fst_corpus_free(fst_corpus *corpus)
{
    fst_text_free(&corpus->french);
    fst_text_free(&corpus->english);
    fst_text_free(&corpus->test);
}
