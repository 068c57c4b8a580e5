/* Text inside the quotes of Graphviz's language. */
#ifndef TRL_BASE_DOT_TEXT_H
#define TRL_BASE_DOT_TEXT_H

#include <stddef.h>
#include <trellis/file.h>

/* What would end the quotes gets a backslash. */
int trl__dot_text(trl_file *file, const char *text, size_t length, trl_error *err);

#endif
