/* Results of utterances that are done, kept beside the output until it is complete, so that an interruption, however
 * it comes, loses none of them.
 *
 *     trl_kept_open("words.txt.part", resume, &kept, &err);
 *     options.kept = kept;                                // of trl_decode_corpus, trl_align_corpus, trl_extract_corpus
 *     …                                                   // what was kept is delivered without being made again
 *     trl_kept_close(kept, 1);                            // all is done: the file goes away
 *
 * With `resume`, what an earlier run has kept counts, if it was made with the same model, graph, front end,
 * utterances and options; the results delivered are the same, bit by bit. The file is locked while it is open.
 */
#ifndef TRELLIS_KEPT_H
#define TRELLIS_KEPT_H

#include <stddef.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_kept trl_kept;

/* Without `resume` what is there is dropped. A file that is none of these is left alone: TRL_EINVAL, as where another
 * process has it. */
TRL_API int trl_kept_open(const char *path, int resume, trl_kept **out, trl_error *err);

/* Utterances that are kept, of this run and of those before; may be read at any time, as long as it is open. */
TRL_API const volatile size_t *trl_kept_count(const trl_kept *kept);

/* remove = 1: the results are where they belong, and the file goes away. It does too where nothing is kept. NULL is
 * fine. */
TRL_API void trl_kept_close(trl_kept *kept, int remove);

TRL_END_DECLS

#endif
