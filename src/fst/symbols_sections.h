/* A symbol table as two sections of a container: i32 labels, and names with a NUL each, the table's own in front. Both
 * empty: none. */
#ifndef TRL_FST_SYMBOLS_SECTIONS_H
#define TRL_FST_SYMBOLS_SECTIONS_H

#include "base/container.h"

#include <trellis/symbols.h>

/* symbols may be NULL. */
int trl__symbols_store(const trl_symbols *symbols, trl__container_writer *writer, const char *labels, const char *names,
                       trl_error *err);

/* *out stays as it is where there is no table. TRL_ECORRUPT: the sections don't fit each other. */
int trl__symbols_load(const trl__container *container, const char *labels, const char *names, trl_symbols **out,
                      trl_error *err);

#endif
