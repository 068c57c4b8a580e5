/* Pronunciation lexicons: words and the phones they are made of.
 *
 *     trl_lexicon_read("lexicon.txt", findings, &lexicon, &err);
 *     long word = trl_lexicon_find(lexicon, "HELLO");                    // -1: not in the lexicon
 *     trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, 0);
 *     for (size_t i = 0; i < p.length; i++) puts(trl_lexicon_phone(lexicon, p.phones[i]));
 *
 * Reads the CMU dictionary's style (`WORD(2)  P1 P2`, `;;;` comments), Kaldi's lexicon.txt, and with probabilities
 * lexiconp.txt and Montreal Forced Aligner's dictionaries (one to four numbers between word and phones; the first is
 * the probability): where every line has a number after the word, these are probabilities, not phones. A `#` that
 * stands alone starts a comment. Words are in composed form (NFC) and found in any: é is the same word typed as one
 * letter or as two. The same pronunciation twice counts once, with the larger probability. UTF-8; gzip too.
 *
 * Indices: words, phones and pronunciations of a word count from 0, in order of first appearance in the file.
 */
#ifndef TRELLIS_LEXICON_H
#define TRELLIS_LEXICON_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/finding.h>

TRL_BEGIN_DECLS

typedef struct trl_lexicon trl_lexicon;

typedef struct trl_pronunciation {
    const int32_t *phones; /* phone indices */
    size_t length;         /* at least 1 */
    float probability;     /* (0, 1]; 1 where the file gives none */
} trl_pronunciation;

/* `path`: a file; the name of an installed model, for its dictionary; or several with commas between,
 * `en-us,mine.dict`, each of which adds its pronunciations to those before. A file with a comma in its name is that
 * file. With findings, lines that can't be used become findings and are left out, and phones that look like something
 * else (numbers, a slash inside) are remarked on; with NULL the first bad line is an error. A file that is not UTF-8
 * text is always one. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT, TRL_EINVAL (nothing beside a comma), TRL_ENOMEM.
 * */
TRL_API int trl_lexicon_read(const char *path, trl_findings *findings, trl_lexicon **out, trl_error *err);
TRL_API void trl_lexicon_destroy(trl_lexicon *lexicon);

TRL_API size_t trl_lexicon_words(const trl_lexicon *lexicon);
TRL_API size_t trl_lexicon_phones(const trl_lexicon *lexicon);
TRL_API const char *trl_lexicon_word(const trl_lexicon *lexicon, size_t word);
TRL_API const char *trl_lexicon_phone(const trl_lexicon *lexicon, size_t phone);

/* The word's index, or -1. Exact, case-sensitive, unless the case is folded. */
TRL_API long trl_lexicon_find(const trl_lexicon *lexicon, const char *word);

/* From now on trl_lexicon_find looks for what is not there exactly in other capitals: the first word of the file that
 * differs in nothing else. Capitals are those of ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic. Words of more
 * than 255 bytes must be there exactly. Not while another thread looks for words. Returns 0 or TRL_ENOMEM. */
TRL_API int trl_lexicon_fold_case(trl_lexicon *lexicon, trl_error *err);

TRL_API size_t trl_lexicon_pronunciations(const trl_lexicon *lexicon, size_t word);
TRL_API trl_pronunciation trl_lexicon_pronunciation(const trl_lexicon *lexicon, size_t word, size_t variant);

/* For arrays by pronunciation: where those of a word begin, its variant v has the place trl_lexicon_first(lexicon, word) + v. Of
 * trl_lexicon_words(lexicon): how many there are in all. */
TRL_API size_t trl_lexicon_first(const trl_lexicon *lexicon, size_t word);

#define TRL_PRONUNCIATION_SMOOTHING 1.0 /* uses: what is usual */

/* A copy whose probabilities come from how often each pronunciation was used (count, by place as above; an alignment says which variant a
 * word was said with): (count + smoothing * p) / (count of the word + smoothing). p are the word's old probabilities, divided by their sum;
 * smoothing, above 0, is a number of uses that they share. So probabilities of a word sum up to 1, none is 0, and a
 * word that was never used keeps the proportions it had. Returns 0, TRL_EINVAL (a count or smoothing that can't be), TRL_ENOMEM. */
TRL_API int trl_lexicon_with_counts(const trl_lexicon *lexicon, const double *count, double smoothing,
                                    trl_lexicon **out, trl_error *err);

/* Lines of word, probability, phones, as Kaldi's lexiconp.txt; words in their order. The reader gets the same lexicon from it, though phones may be
 * numbered otherwise. "-" is standard output. Returns 0, TRL_EIO, TRL_ENOENT (no such folder), TRL_ENOMEM. */
TRL_API int trl_lexicon_write(const trl_lexicon *lexicon, const char *path, trl_error *err);

TRL_END_DECLS

#endif
