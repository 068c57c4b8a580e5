/* N-gram language models: trained from text, written as ARPA files, measured by perplexity.
 *
 *     trl_lm_options options = {.order = 3, .smoothing = TRL_LM_KNESER_NEY};
 *     trl_lm_train(&path, 1, &options, &lm, &err);                       // a sentence per line, blanks between words
 *     trl_lm_write(lm, "words.arpa", &err);                              // words.arpa.gz: packed
 *     trl_perplexity p;
 *     trl_lm_perplexity("words.arpa", &held_out, 1, &p, &err);
 *
 * Each line is a sentence: <s> stands before it, </s> behind, where the text does not have them already. Lines
 * without words are passed over. Texts may be packed by gzip; "-" is standard input. The text of a Kaldi-style data
 * folder has an utterance id in front of each sentence, which is no word.
 *
 * The same sentences in any order, in one text or many, give the same bytes.
 *
 * Orders count from 1: an n-gram of order 2 has two words.
 * Thread rule: models are independent; one model is used by one thread at a time.
 */
#ifndef TRELLIS_LM_H
#define TRELLIS_LM_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

#define TRL_LM_MOST_ORDER 20

/* Both interpolate: P(w | history) = what the counts leave after a discount + back-off(history) P(w | shorter history),
 * and the shortest history with every word alike. So every word has a probability, and those of a history sum to 1. */
typedef enum trl_lm_smoothing {
    TRL_LM_KNESER_NEY, /* modified: discounts for counts 1, 2, 3 and more; shorter n-grams count what precedes them */
    TRL_LM_WITTEN_BELL /* as much for unseen words as there were different ones after the history */
} trl_lm_smoothing;

typedef enum trl_lm_form {
    TRL_LM_FORM_AUTO, /* KALDI where most of the first hundred lines begin with what is the first field of a line in a file
                        * utt2spk, segments or wav.scp beside the text (the log says so), else PLAIN */
    TRL_LM_FORM_PLAIN, /* every field is a word */
    TRL_LM_FORM_KALDI  /* the first field of a line is its id */
} trl_lm_form;

/* All zero is: order 3, Kneser-Ney, the words of the texts and <unk>, every n-gram kept. */
typedef struct trl_lm_options {
    int order; /* 1 … TRL_LM_MOST_ORDER; 0: 3 */
    trl_lm_smoothing smoothing;
    const char *vocabulary; /* a file: its lines begin with the words, WORD(2) is WORD; NULL: all words of the texts */
    int closed;             /* no <unk>: n-grams with words that are not in the vocabulary are not counted */
    /* By order, from 2: n-grams seen less often are left out; 0 and 1: none. May not fall from one order to the next. */
    uint32_t cutoff[TRL_LM_MOST_ORDER + 1];
    double prune; /* n-grams whose loss raises perplexity by less than this, relatively, are left out; 0: none */
    trl_lm_form form;
} trl_lm_options;

typedef struct trl_lm trl_lm;

/* Discounts that the text is too small (or too regular) to estimate, because the formula divides by 0 or takes all of a
 * count or nothing, are 0.5, 1 and 1.5 for counts of 1, 2, 3 and more; the log says so. NULL options: all zero.
 * Returns 0, TRL_EINVAL (options), TRL_ENOENT, TRL_EIO, TRL_ECORRUPT (gzip), TRL_EFORMAT (<s> or </s> inside a sentence, with the
 * place; no words at all), TRL_ELIMIT (more than 2^31 - 1 n-grams of an order, 2^32 - 1 words), TRL_ENOMEM. */
TRL_API int trl_lm_train(const char *const *texts, size_t count, const trl_lm_options *options, trl_lm **out,
                         trl_error *err);
TRL_API void trl_lm_destroy(trl_lm *lm);

TRL_API int trl_lm_order(const trl_lm *lm);
TRL_API uint64_t trl_lm_ngrams(const trl_lm *lm, int order); /* how many are kept; <s> and <unk> count */

/* What was read. */
typedef struct trl_lm_text {
    uint64_t sentences, words; /* without <s> and </s> */
    uint64_t unknown;          /* of the words, those that are not in the vocabulary */
} trl_lm_text;
TRL_API trl_lm_text trl_lm_trained_on(const trl_lm *lm);

/* As ARPA file, n-grams sorted by the bytes of their words; packed by gzip when the name ends in .gz. Returns 0, TRL_EIO,
 * TRL_ENOENT (no such folder), TRL_ENOMEM. */
TRL_API int trl_lm_write(const trl_lm *lm, const char *path, trl_error *err);

/* ---- Perplexity ---- */

/* Events are words and ends of sentences. Unknown words are events, with the probability of <unk>, if the model has that word; else
 * they are passed over, and the words behind them have no history. */
typedef struct trl_perplexity {
    trl_lm_text text;
    uint64_t impossible;     /* events without probability, which are left out */
    uint64_t events;         /* those that have one */
    double log10;            /* of the product of their probabilities */
    double perplexity;       /* 10^(-log10 / events); 0 without events */
    double known_perplexity; /* the same without unknown words */
} trl_perplexity;

/* `model` is an ARPA file, of any program, or one of Sphinx's binary files. <UNK> is <unk>. Returns as trl_lm_train, and what trl_fst_read_arpa returns. */
TRL_API int trl_lm_perplexity(const char *model, const char *const *texts, size_t count, trl_lm_form form,
                              trl_perplexity *out, trl_error *err);

TRL_END_DECLS

#endif
