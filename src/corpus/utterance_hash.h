/* Is it the same work? Hashes of utterances, by what the corpus says of them and by size and time of their sounds. */
#ifndef TRL_CORPUS_UTTERANCE_HASH_H
#define TRL_CORPUS_UTTERANCE_HASH_H

#include <stdint.h>
#include <trellis/corpus.h>
#include <trellis/lexicon.h>

uint64_t trl__hash_text(uint64_t before, const char *text); /* NULL is another than "" */
uint64_t trl__hash_file_times(uint64_t before, const char *path);
/* Of a file that may have its format in front: "ark:x". */
uint64_t trl__hash_place_times(uint64_t before, const char *place);
uint64_t trl__hash_lexicon(uint64_t h, const trl_lexicon *lexicon);
uint64_t trl__hash_corpus(uint64_t before, const trl_corpus *corpus);

#endif
