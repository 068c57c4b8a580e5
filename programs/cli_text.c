/* Texts in memory. Of open_memstream() a piece may be missing without a word: where memory is short, fprintf answers
 * -1, but the stream knows of no error, and the text at the close may be none. Here the command ends. */
#define _GNU_SOURCE /* fopencookie */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct text {
    char **text;
    size_t *size, capacity;
    int failed; /* 1: a piece is missing */
} text;

static ssize_t append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (*t->size + count + 1 > t->capacity) {
        t->capacity = 2 * (*t->size + count + 1);
        char *longer = realloc(*t->text, t->capacity);
        t->failed |= longer == NULL;
        *t->text = longer ? longer : *t->text;
    }
    if (t->failed)
        return 0; /* the stream notes an error */
    memcpy(*t->text + *t->size, bytes, count);
    *t->size += count;
    (*t->text)[*t->size] = '\0';
    return (ssize_t)count;
}

static int forget(void *user)
{
    free(user);
    return 0;
}

FILE *cli_text_open(char **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    text *t = malloc(sizeof *t);
    if (!t)
        cli_out_of_memory();
    *t = (text){.text = bytes, .size = size};
    append(t, "", 0);
    FILE *out = fopencookie(t, "w", (cookie_io_functions_t){.write = append, .close = forget});
    if (!out)
        free(t);
    if (!out || !*bytes)
        cli_out_of_memory();
    return out;
}

void cli_text_close(FILE *out)
{
    int failed = ferror(out);
    if (fclose(out) != 0 || failed)
        cli_out_of_memory();
}
