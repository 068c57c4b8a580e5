/* Inside the reader and writer of HTK's model files (MMF): symbols, the scanner, and what the file says before it is a
 * model.
 *
 * A file is a sequence of macros, each a ~, a letter, a quoted name and a definition (The HTK Book 3.4, chapter 7):
 *
 *     ~o <STREAMINFO> 1 39 <VECSIZE> 39 <NULLD> <MFCC_0_D_A> <DIAGC>                    options of all that follows
 *     ~t "T" <TRANSP> 5 …         ~v "floor" <VARIANCE> 39 …        ~u "m" <MEAN> 39 …
 *     ~m "g" <MEAN> 39 … <VARIANCE> 39 … <GCONST> …                 a Gaussian
 *     ~s "s" <NUMMIXES> 2 <MIXTURE> 1 0.6 <MEAN> … <MIXTURE> 2 0.4 ~m "g"              a state
 *     ~h "ah" <BEGINHMM> <NUMSTATES> 5 <STATE> 2 ~s "s" … <TRANSP> 5 … <ENDHMM>         an HMM
 *
 * A definition may be replaced by the name of a macro of its kind that came before. In binary form a symbol is a colon
 * and a byte, and the numbers that belong to it are big-endian, int16 or float32, with no blanks between; names,
 * parameter kinds and covariance kinds stay text. HTK reads both forms, symbol by symbol.
 */
#ifndef TRL_MODEL_HTK_MMF_H
#define TRL_MODEL_HTK_MMF_H

#include "base/hash_map.h"
#include "base/htk_string.h"
#include "base/text_file.h"
#include "model/model_data.h"

/* ---- Symbols: HTK's own numbers, which stand in binary files ---- */

typedef enum trl__mmf_symbol {
    MMF_BEGINHMM = 0,
    MMF_USE,
    MMF_ENDHMM,
    MMF_NUMMIXES,
    MMF_NUMSTATES,
    MMF_STREAMINFO,
    MMF_VECSIZE,
    MMF_NULLD,
    MMF_POISSOND,
    MMF_GAMMAD,
    MMF_RELD,
    MMF_GEND,
    MMF_DIAGC,
    MMF_FULLC,
    MMF_XFORMC,
    MMF_STATE,
    MMF_TMIX,
    MMF_MIXTURE,
    MMF_STREAM,
    MMF_SWEIGHTS,
    MMF_MEAN,
    MMF_VARIANCE,
    MMF_INVCOVAR,
    MMF_XFORM,
    MMF_GCONST,
    MMF_DURATION,
    MMF_INVDIAGC,
    MMF_TRANSP,
    MMF_DPROB,
    MMF_LLTC,
    MMF_LLTCOVAR,
    MMF_PROJSIZE,
    MMF_PARENTXFORM = 91,
    MMF_INPUTXFORM = 109,
    MMF_RCLASS = 110,
    MMF_HMMSETID = 119,
    MMF_SYMBOLS,
    MMF_KIND = 256, /* a parameter kind */
    MMF_MACRO,      /* ~ and a letter */
    MMF_END         /* of the file */
} trl__mmf_symbol;

const char *trl__mmf_symbol_name(int symbol); /* NULL: none of those up to MMF_SYMBOLS */

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

/* A model of the HMMs; `list` is HTK's list of logical and physical names, or NULL. `list_name` stands for it in
 * messages. */
int trl__mmf_model(trl__mmf_set *set, const char *name, trl__text *list, const char *list_name, trl_model **out,
                   trl_error *err);

/* Where a model keeps the parameter kind of the file it was read from: a line of its provenance. */
#define TRL__MMF_KIND_KEY "parameter kind: "

#endif
