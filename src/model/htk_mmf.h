/* Inside the reader and writer of HTK's model files (MMF): symbols, the scanner, and what the file says before it is a model.
 *
 * A file is a sequence of macros, each a ~, a letter, a quoted name and a definition (The HTK Book 3.4, chapter 7):
 *
 *     ~o <STREAMINFO> 1 39 <VECSIZE> 39 <NULLD> <MFCC_0_D_A> <DIAGC>                    options of all that follows
 *     ~t "T" <TRANSP> 5 …         ~v "floor" <VARIANCE> 39 …        ~u "m" <MEAN> 39 …
 *     ~m "g" <MEAN> 39 … <VARIANCE> 39 … <GCONST> …                 a Gaussian
 *     ~s "s" <NUMMIXES> 2 <MIXTURE> 1 0.6 <MEAN> … <MIXTURE> 2 0.4 ~m "g"              a state
 *     ~h "ah" <BEGINHMM> <NUMSTATES> 5 <STATE> 2 ~s "s" … <TRANSP> 5 … <ENDHMM>         an HMM
 *
 * A definition may be replaced by the name of a macro of its kind that came before. In binary form a symbol is a colon and a
 * byte, and the numbers that belong to it are big-endian, int16 or float32, with no blanks between; names, parameter kinds and
 * covariance kinds stay text. HTK reads both forms, symbol by symbol.
 */
#ifndef TRL_MODEL_HTK_MMF_H
#define TRL_MODEL_HTK_MMF_H

#include "base/hash_map.h"
#include "base/htk_string.h"
#include "base/text_file.h"
#include "model/model_data.h"

/* ---- Symbols: HTK's own numbers, which stand in binary files ---- */

#define TRL__MMF_SYMBOLS(X)                                                                                          \
    X(BEGINHMM, 0)                                                                                                   \
    X(USE, 1) X(ENDHMM, 2) X(NUMMIXES, 3) X(NUMSTATES, 4) X(STREAMINFO, 5) X(VECSIZE, 6) X(NULLD, 7) X(POISSOND, 8)  \
        X(GAMMAD, 9) X(RELD, 10) X(GEND, 11) X(DIAGC, 12) X(FULLC, 13) X(XFORMC, 14) X(STATE, 15) X(TMIX, 16)        \
            X(MIXTURE, 17) X(STREAM, 18) X(SWEIGHTS, 19) X(MEAN, 20) X(VARIANCE, 21) X(INVCOVAR, 22) X(XFORM, 23)    \
                X(GCONST, 24) X(DURATION, 25) X(INVDIAGC, 26) X(TRANSP, 27) X(DPROB, 28) X(LLTC, 29) X(LLTCOVAR, 30) \
                    X(PROJSIZE, 31) X(PARENTXFORM, 91) X(INPUTXFORM, 109) X(RCLASS, 110) X(REGTREE, 111)             \
                        X(HMMSETID, 119)

typedef enum trl__mmf_symbol {
#define TRL__MMF_ENUM(name, code) MMF_##name = (code),
    TRL__MMF_SYMBOLS(TRL__MMF_ENUM)
#undef TRL__MMF_ENUM
        MMF_KIND = 256, /* a parameter kind */
    MMF_MACRO,          /* ~ and a letter */
    MMF_END             /* of the file */
} trl__mmf_symbol;

const char *trl__mmf_symbol_name(int symbol); /* NULL: none of them */

/* ---- Scanner ---- */

#define TRL__MMF_WORD 64

typedef struct trl__mmf_scan {
    const char *name; /* of the file, for messages */
    const char *begin, *place, *end;
    const char *at;           /* where the current symbol starts */
    int symbol;               /* the current one: trl__mmf_symbol */
    int binary;               /* its form, and that of the numbers behind it */
    int binary_seen;          /* places in messages are bytes, not lines */
    char macro;               /* the letter */
    char word[TRL__MMF_WORD]; /* as it stands in the file */
} trl__mmf_scan;

int trl__mmf_next(trl__mmf_scan *scan, trl_error *err);
int trl__mmf_string(trl__mmf_scan *scan, char out[TRL__HTK_STRING], trl_error *err);
int trl__mmf_short(trl__mmf_scan *scan, int32_t least, int32_t *out, trl_error *err); /* least … 32767 */
int trl__mmf_float(trl__mmf_scan *scan, float *out, trl_error *err);
int trl__mmf_floats(trl__mmf_scan *scan, size_t count, trl__arena *arena, float **out, trl_error *err);

/* Fails at the current symbol. */
int trl__mmf_fail(const trl__mmf_scan *scan, trl_error *err, int code, const char *format, ...) TRL_PRINTF(4, 5);

/* ---- What a file says ---- */

typedef struct trl__mmf_gaussian {
    const float *mean, *variance;
} trl__mmf_gaussian;

typedef struct trl__mmf_component {
    float weight;
    const trl__mmf_gaussian *gaussian;
} trl__mmf_component;

typedef struct trl__mmf_state {
    int32_t count;
    trl__mmf_component *components;
    int32_t tied; /* its number in the model; -1: not used yet */
} trl__mmf_state;

typedef struct trl__mmf_transitions {
    int32_t size; /* with entry (first row) and exit (last column) */
    const float *probability;
    int32_t topology; /* its number in the model; -1: not used yet */
    int32_t unit;     /* the first unit that has it */
} trl__mmf_transitions;

typedef struct trl__mmf_hmm {
    const char *name;
    int32_t states; /* emitting */
    trl__mmf_state **state;
    trl__mmf_transitions *transitions;
} trl__mmf_hmm;

typedef struct trl__mmf_set {
    int32_t dim;
    char kind[TRL__MMF_WORD]; /* parameter kind: "MFCC_0_D_A" */
    trl__mmf_hmm *hmms;
    size_t count, capacity;
    trl__map macros; /* letter and name -> what it stands for */
    trl__arena arena;
} trl__mmf_set;

int trl__mmf_parse(const char *name, const char *bytes, size_t size, trl__mmf_set *out, trl_error *err);
void trl__mmf_set_free(trl__mmf_set *set);

/* The HMM of this name, or NULL. */
const trl__mmf_hmm *trl__mmf_find_hmm(const trl__mmf_set *set, const char *name);

/* A model of the HMMs; `list` is HTK's list of logical and physical names, or NULL. `list_name` stands for it in messages. */
int trl__mmf_model(trl__mmf_set *set, const char *name, trl__text *list, const char *list_name, trl_model **out,
                   trl_error *err);

/* Where a model keeps the parameter kind of the file it was read from: a line of its provenance. */
#define TRL__MMF_KIND_KEY "parameter kind: "

#endif
