/* Lexicons and grammars as machines: what the operations are measured on.
 *
 * The lexicon L reads phones and writes a word at its first phone, then starts anew. Words that sound alike, or as
 * another's beginning, end with #1, #2 …, and the grammar's back-off arcs with #0, which the lexicon passes on: so
 * their composition can be determinized (Mohri, Pereira and Riley, "Weighted finite-state transducers in speech
 * recognition", 2002). */
#ifndef TRELLIS_BENCH_FST_GRAMMAR_H
#define TRELLIS_BENCH_FST_GRAMMAR_H

#include "fst_corpus.h"

#include <trellis/fst.h>
#include <trellis/lexicon.h>

typedef struct fst_grammar {
    trl_lexicon *words;
    trl_fst *lexicon, *grammar; /* sorted by output, by input */
} fst_grammar;

/* Word w has label w + 1, #0 comes behind them; phone p has label p + 1, #0, #1 … come behind them. */
#define GRAMMAR_LABEL(number) ((int32_t)(number) + 1)
int32_t fst_grammar_words_end(const fst_grammar *g); /* the label of #0 on the word side */
int32_t fst_grammar_phones_end(
    const fst_grammar *g); /* the label of #0 on the phone side: this and higher ones are no phones */

/* AN4's lexicon and its bigram model; 0 when ../shared/data/an4 is not there. */
int fst_grammar_an4(fst_grammar *g);

/* The CMU dictionary, and a bigram model with back-off of the first lines of the text without the words that are not in
 * it; words that are in it alone count as if they had been seen once. Where the text is synthetic, or the dictionary is
 * not installed, words are spelled by chance; *made_up says so. */
void fst_grammar_text(fst_grammar *g, const fst_corpus *corpus, size_t lines, int *made_up);
void fst_grammar_free(fst_grammar *g);

#endif
