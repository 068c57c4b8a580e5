/* Symbol tables: names for the labels of transducers.
 *
 *     trl_symbols_create("words", &words, &err);
 *     trl_symbols_add(words, "<eps>", 0, &err);
 *     trl_symbols_add(words, "hello", 1, &err);
 *     puts(trl_symbols_name(words, 1));                                  // hello
 *     int64_t label = trl_symbols_find(words, "hello");                  // 1; TRL_NO_LABEL: not there
 *
 * Labels may be any numbers from 0 to 2^31 - 1, in any order, with gaps; a name and a label belong to each other. A
 * table can be shared: trl_symbols_share makes one more owner, trl_symbols_destroy one less. Once shared it must not
 * be changed.
 *
 * Indices: entries count from 0 in the order they were added; labels are what the user gave.
 * Thread rule: any number of threads may read one table; adding needs it alone.
 */
#ifndef TRELLIS_SYMBOLS_H
#define TRELLIS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

#define TRL_NO_LABEL (-1)

typedef struct trl_symbols trl_symbols;

/* `name` is the table's own, as OpenFst's files have it. Returns 0, TRL_ENOMEM. */
TRL_API int trl_symbols_create(const char *name, trl_symbols **out, trl_error *err);
TRL_API trl_symbols *trl_symbols_share(trl_symbols *symbols); /* the same table; NULL stays NULL */
TRL_API void trl_symbols_destroy(trl_symbols *symbols);

/* Adds a pair. The same pair again is fine. Returns 0, TRL_EINVAL (the name or the label belongs to another; an empty
 * name or a label that is not 0 … 2^31 - 1), TRL_ENOMEM. */
TRL_API int trl_symbols_add(trl_symbols *symbols, const char *name, int64_t label, trl_error *err);

/* Adds a name with the next label (one more than the largest; 0 in an empty table) unless it is there; *label is its
 * label either way. */
TRL_API int trl_symbols_add_next(trl_symbols *symbols, const char *name, int32_t *label, trl_error *err);

TRL_API int64_t trl_symbols_find(const trl_symbols *symbols, const char *name);  /* a label or TRL_NO_LABEL */
TRL_API const char *trl_symbols_name(const trl_symbols *symbols, int64_t label); /* or NULL */
TRL_API const char *trl_symbols_title(const trl_symbols *symbols);               /* the table's own name */

TRL_API size_t trl_symbols_count(const trl_symbols *symbols);
TRL_API int32_t trl_symbols_label(const trl_symbols *symbols, size_t entry); /* entry 0 … count - 1 */

/* OpenFst's text form: a name, blanks or a tab, a label on each line; "-" is standard input or output. Its binary
 * form is read, too, and files that gzip packed. The title is the path. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT
 * and TRL_ECORRUPT (with the place), TRL_ENOMEM. */
TRL_API int trl_symbols_read(const char *path, trl_symbols **out, trl_error *err);
TRL_API int trl_symbols_write(const trl_symbols *symbols, const char *path, trl_error *err);

TRL_END_DECLS

#endif
