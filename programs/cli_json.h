/* JSON of commands. A lack of memory would be one more NULL among those of many small calls, and Jansson's parser
 * loses bytes or crashes then. So its allocations never fail: the command ends instead. NULL is left for what Jansson
 * refuses: text that is not UTF-8, and numbers that are NaN or infinite. */
#ifndef TRELLIS_CLI_JSON_H
#define TRELLIS_CLI_JSON_H

#include <jansson.h>
#include <trellis/error.h>
#include <trellis/file.h>

/* From now on a lack of memory ends the command: main() calls it. */
void cli_json_begin(void);

/* A string; null for NULL; U+FFFD alone for what is not UTF-8. */
json_t *cli_json_string(const char *text);

/* All three take the value over; NULL is TRL_EINVAL. `flags` are json_dumps'. */
char *cli_json_text(json_t *value, size_t flags, trl_error *err);                /* freed by free(); NULL: see err */
int cli_json_write(json_t *value, size_t flags, trl_file *file, trl_error *err); /* and the end of the line */
int cli_json_print(json_t *value, size_t flags, trl_error *err);                 /* the same to standard output */

#endif
