/* JSON as text: what has a quoted string in it goes through here. Straight into a file, piece by piece, or as a value
 * in memory. */
#ifndef TRL_BASE_JSON_TEXT_H
#define TRL_BASE_JSON_TEXT_H

#include <trellis/file.h>

/* The text in quotes, escaped where JSON asks for it; what is not UTF-8 becomes U+FFFD. */
int trl__json_string(trl_file *file, const char *text, trl_error *err);

/* A number with as many digits as it needs; null for what JSON has no word for (NaN, infinity). */
int trl__json_number(trl_file *file, double value, trl_error *err);

/* A value in memory, that grows at its end. Initialise with {0}. A lack of memory is remembered: nobody has to look
 * before the end.
 *
 *     trl__json_open(&json, NULL, '{');
 *     trl__json_add_text(&json, "id", id);
 *     trl__json_open(&json, "scores", '[');
 *     trl__json_add_real(&json, NULL, 0.5);                   // the members of a list have no keys
 *     trl__json_close(&json, ']');
 *     trl__json_close(&json, '}');
 *     char *text = trl__json_take(&json);                     // {"id":"…","scores":[0.5]}
 */
typedef struct trl__json {
    char *text;
    size_t size, capacity;
    int failed; /* 1: a piece is missing */
} trl__json;

void trl__json_open(trl__json *json, const char *key, char bracket);
void trl__json_close(trl__json *json, char bracket);
void trl__json_add_text(trl__json *json, const char *key, const char *text);
void trl__json_add_real(trl__json *json, const char *key, double value);
void trl__json_add_whole(trl__json *json, const char *key, int64_t value);

/* The whole, freed by trl__free; NULL: memory ran out on the way. */
char *trl__json_take(trl__json *json);

#endif
