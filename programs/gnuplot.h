/* Draws with gnuplot: a script goes in, the bytes of a picture come out. */
#ifndef TRELLIS_GNUPLOT_H
#define TRELLIS_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>
#include <trellis/error.h>

/* Writes commands and data; the terminal is set already. */
typedef void gnuplot_script(FILE *script, const void *user);

/* *picture is the caller's, freed by free(), and ends with a NUL that *size does not count. Returns 0, TRL_ENOENT (no
 * gnuplot), TRL_EIO (it failed, or drew nothing), TRL_ENOMEM. */
int gnuplot_draw(const char *terminal, gnuplot_script *write, const void *user, char **picture, size_t *size,
                 trl_error *err);

/* Text from outside, as a string that gnuplot takes as it is. */
void gnuplot_quote(FILE *script, const char *text);

#endif
