/* JSON of commands. Jansson's functions answer a lack of memory with NULL or -1, among many calls that nobody looks at,
 * and pass over what they could not store. So its allocations are watched instead: once one has failed, nothing that was
 * made of JSON is believed. */
#ifndef TRELLIS_CLI_JSON_H
#define TRELLIS_CLI_JSON_H

#include <jansson.h>
#include <trellis/error.h>
#include <trellis/file.h>

/* From now on allocations are watched: main() calls it. */
void cli_json_watch(void);

/* Has one failed? TRL_ENOMEM then, else 0. */
int cli_json_check(trl_error *err);

/* A string; null for NULL; U+FFFD alone for what is not UTF-8. */
json_t *cli_json_string(const char *text);

/* All three take the value over, NULL too, which is what comes of a value that Jansson refused: text that is not UTF-8, or
 * a number that is NaN or infinite (TRL_EINVAL). `flags` are json_dumps'. */
char *cli_json_text(json_t *value, size_t flags, trl_error *err);                /* freed by free(); NULL: see err */
int cli_json_write(json_t *value, size_t flags, trl_file *file, trl_error *err); /* and the end of the line */
int cli_json_print(json_t *value, size_t flags, trl_error *err);                 /* the same to standard output */

#endif
