/* JSON written straight into a file, piece by piece: what has a quoted string in it goes through here. */
#ifndef TRL_BASE_JSON_TEXT_H
#define TRL_BASE_JSON_TEXT_H

#include <trellis/file.h>

/* The text in quotes, escaped where JSON asks for it; what is not UTF-8 becomes U+FFFD. */
int trl__json_string(trl_file *file, const char *text, trl_error *err);

/* A number with as many digits as it needs; null for what JSON has no word for (NaN, infinity). */
int trl__json_number(trl_file *file, double value, trl_error *err);

#endif
