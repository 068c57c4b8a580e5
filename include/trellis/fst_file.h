/* Transducers in files: OpenFst's binary and text forms, ARPA language models, pictures.
 *
 *     trl_fst_read("grammar.fst", &grammar, &err);                    // the kind of file is seen from its first bytes
 *     trl_fst_write(grammar, "grammar.fst", TRL_FST_VECTOR, &err);
 *
 * "-" is standard input or output. Files may be compressed with gzip. Nothing that a file says is believed: a
 * damaged one is TRL_ECORRUPT or TRL_EFORMAT with the place. Options may be NULL: all zero.
 *
 * Thread rule: as of the machines and tables that are given.
 */
#ifndef TRELLIS_FST_FILE_H
#define TRELLIS_FST_FILE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

/* OpenFst's binary files of types vector and const, with arcs "standard" (tropical) and "log"; "real" and Kaldi's
 * "lattice4" for the other semirings. */
typedef enum trl_fst_format { TRL_FST_VECTOR, TRL_FST_CONST } trl_fst_format;

/* Reads any of them; text (below) as tropical, with numbers for labels; an ARPA file that begins with "\data\", or
 * one of Sphinx's tries, as tropical acceptor with its own table of words (<eps> is 0). Returns 0, TRL_ENOENT, TRL_EIO, TRL_ECORRUPT,
 * TRL_EFORMAT, TRL_EUNSUPPORTED (another type of machine, arc or byte order), TRL_ENUMBER (a weight that the
 * semiring does not have), TRL_ELIMIT (numbers beyond 2^31 - 1), TRL_ENOMEM. So do the other readers. */
TRL_API int trl_fst_read(const char *path, trl_fst **out, trl_error *err);

/* The same; in text, labels may be names of these tables (NULL: numbers only) in place of numbers. A side whose
 * labels are partly the one and partly the other is TRL_EFORMAT. */
TRL_API int trl_fst_read_named(const char *path, const trl_symbols *isymbols, const trl_symbols *osymbols,
                               trl_fst **out, trl_error *err);

/* The symbol tables go along. The property bits are those that OpenFst's compiler would write (vector), or all
 * (const). Returns 0, TRL_EIO, TRL_ENOENT (no such folder), TRL_ELIMIT (const: more than 2^32 - 1 arcs), TRL_ENOMEM. */
TRL_API int trl_fst_write(const trl_fst *fst, const char *path, trl_fst_format format, trl_error *err);

/* ---- Text ---- */

/* `from to input [output] [weight]` for an arc, `state [weight]` for a final state, blanks or tabs between; the
 * first line's state is the start. A lattice weight is `graph,acoustic`. "Infinity" is a weight, too. */
typedef struct trl_fst_text_options {
    int acceptor;                     /* one label per arc; printing: where the machine is an acceptor */
    trl_symbols *isymbols, *osymbols; /* NULL: numbers; printing: the machine's own. Acceptors use isymbols */
    const trl_symbols *state_symbols; /* names of states; NULL: numbers */
    /* reading */
    int add_symbols;                  /* new names are added to the tables, with the next label */
    int or_numbers;                   /* labels may be numbers, where no label of the same side is a name */
    int keep_isymbols, keep_osymbols; /* the machine keeps the table */
    int keep_state_numbering;         /* else states are numbered in the order they appear */
    /* printing */
    int numeric;                /* numbers, even if the machine has tables */
    const char *missing_symbol; /* instead of a label without name; NULL: that is an error (TRL_EINVAL) */
    int show_weight_one;        /* weights that are one, too */
} trl_fst_text_options;

TRL_API int trl_fst_read_text(const char *path, trl_semiring semiring, const trl_fst_text_options *options,
                              trl_fst **out, trl_error *err);
TRL_API int trl_fst_write_text(const trl_fst *fst, const char *path, const trl_fst_text_options *options,
                               trl_error *err);

/* A weight as text and back, as in the files; `out` holds 64 bytes. Parsing returns 0 or -1: no weight of that
 * semiring. */
TRL_API void trl_weight_format(trl_semiring semiring, trl_weight weight, char *out);
TRL_API int trl_weight_parse(trl_semiring semiring, const char *text, trl_weight *weight);

/* ---- Language models ---- */

/* An n-gram model in ARPA form, or one of Sphinx's binary forms (the trie, as en-us.lm.bin, and the older .DMP), as an
 * acceptor: states are histories, weights negative natural logarithms; the start
 * is the history <s>, and the probability of </s> the final weight. From each history an arc labelled `backoff`
 * leads to the shorter one. Taken only where no other arc fits (phi of <trellis/fst_compose.h>), the weight of a
 * sentence is exactly the model's. Arcs are sorted by label. */
typedef struct trl_arpa_options {
    trl_symbols *words;    /* names to labels; NULL: the machine gets a table of its own, with <eps> as 0 */
    int add_words;         /* new words are added to `words`; else n-grams with words that are not there are left out */
    int keep_words;        /* the machine keeps `words` as symbols of both sides */
    int32_t backoff;       /* label of back-off arcs; 0: epsilon */
    const char *bos, *eos; /* NULL: <s>, </s> */
    trl_semiring semiring; /* tropical or log */
} trl_arpa_options;

/* *skipped (may be NULL): n-grams that were left out. Returns TRL_EINVAL too: another semiring, a negative label. */
TRL_API int trl_fst_read_arpa(const char *path, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                              trl_error *err);

/* ---- Pictures ---- */

/* For Graphviz: dot -Tsvg. Numbers that are 0 mean the default. */
typedef struct trl_fst_draw_options {
    int acceptor;                           /* one label per arc, where the machine is an acceptor */
    const trl_symbols *isymbols, *osymbols; /* NULL: the machine's own, or numbers */
    int numeric, show_weight_one;
    int portrait, vertical; /* default: landscape, from left to right */
    const char *title;
    int font_size, precision;            /* 14 pt; 5 digits */
    double width, height;                /* of the page: 8.5 and 11 inches */
    double rank_distance, node_distance; /* 0.4 and 0.25 inches */
} trl_fst_draw_options;
TRL_API int trl_fst_draw(const trl_fst *fst, const char *path, const trl_fst_draw_options *options, trl_error *err);

TRL_END_DECLS

#endif
