/* Grammars as acceptors over words: a list of phrases, a loop over words, JSGF. (ARPA language models: <trellis/fst_file.h>.)
 *
 *     trl_grammar_options options = {.words = words_of_the_lexicon};
 *     trl_grammar_read_jsgf("commands.jsgf", NULL, &options, &grammar, &err);   // commands.jsgf:7:12: …
 *
 * The machines are tropical; weights are negative natural logarithms of probabilities. Arcs are sorted by label. A machine keeps the
 * table of words as symbols of both sides. Epsilon is label 0.
 *
 * Lines and columns count from 1; columns count characters, not bytes. Files may be packed by gzip; "-" is standard input.
 * Thread rule: as of the table that is given.
 */
#ifndef TRELLIS_GRAMMAR_H
#define TRELLIS_GRAMMAR_H

#include <stddef.h>
#include <trellis/error.h>
#include <trellis/fst.h>

TRL_BEGIN_DECLS

/* NULL options: all zero. */
typedef struct trl_grammar_options {
    trl_symbols *words;  /* names to labels; NULL: the machine gets a table of its own, with <eps> as 0 */
    int add_words;       /* words that are not there are added to `words`; else they are an error, with their place */
    int32_t most_states; /* of a JSGF grammar: TRL_ELIMIT beyond; 0: 2^24 */
} trl_grammar_options;

/* All return 0, TRL_ENOENT, TRL_EIO, TRL_ECORRUPT (gzip), TRL_EFORMAT (with the place; an unknown word, too, and a grammar
 * that has no sentence), TRL_ELIMIT, TRL_ENOMEM. */

/* One phrase per line, words with blanks between; a weight may stand in front, as in "/2.5/ turn left". Without one it is 1.
 * A phrase's probability is its weight divided by the sum of all; one that is there twice has both. The machine is
 * deterministic: a tree of the phrases, their last words leading to one end. */
TRL_API int trl_grammar_read_list(const char *path, const trl_grammar_options *options, trl_fst **out, trl_error *err);

/* The same file, but any number of its phrases, one after the other. The end counts as one more, of weight 1 unless a line
 * "/0.1/ </s>" says otherwise: with V words and no weights, every word and the end have probability 1 / (V + 1). */
TRL_API int trl_grammar_read_loop(const char *path, const trl_grammar_options *options, trl_fst **out, trl_error *err);

/* That loop over words in memory. TRL_EINVAL: there are none. */
TRL_API int trl_grammar_word_loop(const char *const *words, size_t count, const trl_grammar_options *options,
                                  trl_fst **out, trl_error *err);

/* A grammar in the JSpeech Grammar Format (V1.0): what `rule` says ("<name>" or "name"); NULL: one of its public rules, all
 * alike. Alternatives have their weights' shares (1 where none is given); an optional part is there or not, and a repeated
 * one goes on or not, with probability 1/2 each. Tags are passed over. A rule may contain itself as the last thing of an alternative (right recursion); elsewhere that
 * is no finite machine, and an error. TRL_EUNSUPPORTED: imports. TRL_ENOENT: no such rule. TRL_ELIMIT: more than most_states, or rules
 * and brackets more than 1000 deep. */
TRL_API int trl_grammar_read_jsgf(const char *path, const char *rule, const trl_grammar_options *options, trl_fst **out,
                                  trl_error *err);

TRL_END_DECLS

#endif
