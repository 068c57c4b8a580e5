/* Transducers in files: OpenFst's binary and text forms, ARPA language models, pictures.
 *
 *     trl_fst_read("grammar.fst", &grammar, &err);                       // what kind of file it is is seen from its first bytes
 *     trl_fst_write(grammar, "grammar.fst", TRL_FST_VECTOR, &err);
 *
 * "-" is standard input or output. Files may be compressed with gzip. Nothing that a file says is believed: a damaged one is TRL_ECORRUPT or
 * TRL_EFORMAT with the place.
 */
#ifndef TRELLIS_FST_FILE_H
#define TRELLIS_FST_FILE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

/* OpenFst's binary files, types vector and const, arcs standard (tropical), log, and for the others `real` and `lattice4` (as Kaldi
 * writes them). Read too where they are aligned. */
typedef enum trl_fst_format { TRL_FST_VECTOR, TRL_FST_CONST } trl_fst_format;

TRL_API int trl_fst_read(const char *path, trl_fst **out, trl_error *err);
TRL_API int trl_fst_write(const trl_fst *fst, const char *path, trl_fst_format format, trl_error *err);

/* The text form: `from to input [output] [weight]` for an arc, `state [weight]` for a final state; the first line's state is the start. */
typedef struct trl_fst_text_options {
    int acceptor; /* one label per arc */
    trl_symbols *isymbols,
        *osymbols; /* NULL: numbers. With add_symbols, new names are added to them (acceptor: isymbols alone) */
    int add_symbols;
    int keep_symbols;          /* reading: the machine keeps the tables */
    int allow_negative_labels; /* refused unless set, as in OpenFst */
    const trl_symbols *state_symbols;
    const char *missing_symbol; /* printing: instead of a label without name; NULL: an error */
    int show_weight_one;        /* printing: weights that are one too */
} trl_fst_text_options;
TRL_API int trl_fst_read_text(const char *path, trl_semiring semiring, const trl_fst_text_options *options,
                              trl_fst **out, trl_error *err);
TRL_API int trl_fst_write_text(const trl_fst *fst, const char *path, const trl_fst_text_options *options,
                               trl_error *err);

/* An n-gram model in ARPA form as an acceptor: states are histories, weights negative natural logarithms, arcs labelled `backoff` (0: epsilon)
 * lead to shorter histories. <s> and </s> become start and final states. Words are looked up in `words`, with add_words added there; what is not
 * there is left out and counted in *skipped (may be NULL). */
typedef struct trl_arpa_options {
    trl_symbols *words;
    int add_words;
    int32_t backoff;       /* label of back-off arcs, default 0 */
    const char *bos, *eos; /* NULL: <s>, </s> */
    trl_semiring semiring; /* tropical or log */
} trl_arpa_options;
TRL_API int trl_fst_read_arpa(const char *path, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                              trl_error *err);

/* Graphviz. */
typedef struct trl_fst_draw_options {
    int acceptor;
    const trl_symbols *isymbols, *osymbols;
    int show_weight_one, portrait, vertical;
    const char *title;
    double font_size, width, height; /* 0: 14 pt, 8.5 and 11 inches */
} trl_fst_draw_options;
TRL_API int trl_fst_draw(const trl_fst *fst, const char *path, const trl_fst_draw_options *options, trl_error *err);

TRL_END_DECLS

#endif
