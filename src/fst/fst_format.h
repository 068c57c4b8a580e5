/* Readers and writers of transducers on an open source or file: what the functions of fst_file.h open, and what the
 * fuzz targets feed with bytes.
 */
#ifndef TRL_FST_FST_FORMAT_H
#define TRL_FST_FST_FORMAT_H

#include "base/byte_source.h"

#include <trellis/file.h>
#include <trellis/fst_file.h>
#include <trellis/fst_structure.h>

/* The first four bytes of OpenFst's binary machines, on little-endian and other computers, and of its symbol tables. */
#define TRL__FST_MAGIC "\xD6\xFD\xB2\x7E"
#define TRL__FST_MAGIC_BIG "\x7E\xB2\xFD\xD6"
#define TRL__SYMBOLS_MAGIC "\x74\xFB\xB2\x7E"

/* Sphinx's binary language models: the trie; the older form, of little- and big-endian computers. */
#define TRL__SPHINX_LM_MAGIC "Trie Language Model"
#define TRL__SPHINX_DMP_MAGIC "\x11\0\0\0Darpa Trigram LM"
#define TRL__SPHINX_DMP_MAGIC_BIG \
    "\0\0\0\x11"                  \
    "Darpa Trigram LM"

/* The names of the semirings in OpenFst's files: standard, log … -1: none of them. */
const char *trl__arc_type(trl_semiring semiring);
int trl__arc_type_find(const char *name);

/* By the first bytes; what trl_fst_read does. `text`: how text is read, or NULL. */
int trl__fst_read(trl__source *source, const trl_fst_text_options *text, trl_fst **out, trl_error *err);

int trl__fst_read_binary(trl__source *source, trl_fst **out, trl_error *err);
int trl__fst_read_text(trl__source *source, trl_semiring semiring, const trl_fst_text_options *options, trl_fst **out,
                       trl_error *err);
int trl__fst_read_arpa(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                       trl_error *err);
int trl__fst_read_sphinx_lm(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                            trl_error *err);
int trl__fst_read_sphinx_dmp(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                             trl_error *err);

/* A file, or an installed language model by its name; unpacked on the way. */
int trl__fst_open(const char *path, trl__source *source, trl_error *err);

/* An n-gram model of any form, by its first bytes; what trl_fst_read_arpa does. */
int trl__fst_read_ngrams(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                         trl_error *err);

/* The same on an open file. Text: options must not be NULL. */
int trl__fst_write_binary(const trl_fst *fst, trl_file *file, trl_fst_format format, trl_error *err);
int trl__fst_write_text(const trl_fst *fst, trl_file *file, const trl_fst_text_options *options, trl_error *err);

/* ---- Piece by piece, for archives of machines and for other weights ---- */

#define TRL__OPENFST_NAME 32 /* bytes of the name of a type; longer ones are cut */
enum { TRL__OPENFST_ISYMBOLS = 1, TRL__OPENFST_OSYMBOLS = 2 };

typedef struct trl__openfst_header {
    char type[TRL__OPENFST_NAME], arc_type[TRL__OPENFST_NAME];
    uint32_t version, flags;
    uint64_t properties;
    int64_t start, states, arcs; /* states: -1 in a vector file that ends with its last state */
} trl__openfst_header;

/* From the magic number on. The machine's type is vector or const, the type of its arcs may be any. */
int trl__openfst_read_header(trl__source *source, trl__openfst_header *h, trl_error *err);
int trl__openfst_write_header(const trl__openfst_header *h, trl_file *file, trl_error *err);

/* The tables that follow; NULL where there is none. The caller's, also after a failure. */
int trl__openfst_read_symbols(trl__source *source, const trl__openfst_header *h, trl_symbols **input,
                              trl_symbols **output, trl_error *err);

/* What follows the header, of one of our semirings; the source is then behind the machine. */
int trl__openfst_read_machine(trl__source *source, const trl__openfst_header *h, trl_fst **out, trl_error *err);

/* The property bits of an acceptor in topological order. */
uint64_t trl__openfst_sorted_acceptor(void);

/* ---- Symbol tables ---- */

/* Text, or OpenFst's binary form. */
int trl__symbols_read(trl__source *source, trl_symbols **out, trl_error *err);
int trl__symbols_read_binary(trl__source *source, trl_symbols **out, trl_error *err);
int trl__symbols_write_binary(const trl_symbols *symbols, trl_file *file, trl_error *err);

int trl__codes_read(trl__source *source, trl_fst_codes **out, trl_error *err);

/* Strings of OpenFst's files: their length, then their bytes. `most` is what a sane one has. */
int trl__read_string(trl__source *source, size_t most, char **out, trl_error *err);
int trl__write_string(trl_file *file, const char *text, trl_error *err);

/* A weight as OpenFst's tools write it with so many digits; `out` holds 64 bytes. */
void trl__weight_text(trl_semiring semiring, trl_weight weight, int digits, char *out);

/* The name of a label, or its number where there is no table. NULL: the table does not have it. `number` holds 16
 * bytes. */
const char *trl__label_text(const trl_symbols *symbols, int32_t label, char *number);

#endif
