/* Transcripts as the readers fill them and the scorer reads them. Words point into the file's text, or into the arena. */
#ifndef TRL_DECODE_TRANSCRIPTS_H
#define TRL_DECODE_TRANSCRIPTS_H

#include "base/memory.h"
#include "base/string_table.h"
#include "base/text_file.h"

#include <trellis/score.h>

typedef struct trl__transcript {
    const char *id, *speaker;
    size_t first, count; /* words */
    int64_t line;
    int rank;
    const char *file, *channel; /* ctm and stm */
    double start, end;          /* stm, seconds */
} trl__transcript;

struct trl_transcripts {
    char *name; /* of the file */
    trl_transcripts_format format;
    trl__text text;
    trl__arena arena;
    trl__transcript *items;
    size_t count, capacity;
    const char **words;
    size_t word_count, word_capacity;
    double *middles; /* ctm: of the words, seconds */
    int ranked;      /* 1: some utterance has a list of hypotheses */
};

/* The signs of alternatives, and the word that stands for none: these very pointers, since a word of another format may look like them. */
extern const char trl__alt_open[], trl__alt_next[], trl__alt_close[], trl__no_word[];

/* Takes the text over, whatever it returns. */
int trl__transcripts_parse(const char *name, trl__text *text, trl_transcripts_format format, trl_transcripts **out,
                           trl_error *err);

/* For the readers: a further transcript, which has the words that are added after it. */
trl__transcript *trl__transcripts_add(trl_transcripts *t, trl_error *err);
int trl__transcripts_word(trl_transcripts *t, const char *word, trl_error *err);

/* The words of trn and stm, with alternatives. */
int trl__transcripts_marked(trl_transcripts *t, char *text, trl_error *err);

/* What sclite does to a word: the tag behind ';' and a final '*' are no part of it. */
void trl__plain_word(char *word);

/* The number of a channel of a file, adding it when it is new and may be added. -1: unknown, -2: out of memory. */
long trl__channel_number(trl__strings *table, const char *file, const char *channel, int may_add);

int trl__read_trn(trl_transcripts *t, trl_error *err);
int trl__read_stm(trl_transcripts *t, trl_error *err);
int trl__read_ctm(trl_transcripts *t, trl_error *err);
int trl__read_json_transcripts(trl_transcripts *t, trl_error *err);

/* The next line of a file of NIST's that has something on it and is no comment; 0 at the end. */
int trl__next_transcript_line(trl_transcripts *t, char **line);

#endif
