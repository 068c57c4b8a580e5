/* Lattices in files: Kaldi's archives, read and written, and OpenFst's machines, written.
 *
 *     trl_lattice_reader_open("lat.1.gz", words, &reader, &err);
 *     while ((found = trl_lattice_reader_next(reader, &id, &lattice, &err)) > 0) {
 *         …
 *         trl_lattice_destroy(lattice);
 *     }
 *     trl_lattice_reader_close(reader);
 *
 * A place is a file name, or a format and a name:
 *
 *     lat.ark  ark:lat.ark     Kaldi's compact lattices, binary
 *              ark,t:lat.txt   the same as text
 *              lattice:lat.ark Kaldi's plain lattices: an arc for each frame, words on some of them; lattice,t: as text
 *              fst:DIR         a folder of OpenFst machines, a file ID.fst for each utterance: words as labels, the scaled sum of costs as
 *                              tropical weight, and a table of the words that occur
 *              fst,t:DIR       the same as text, ID.txt, with both costs, unscaled, as a pair
 *     -                        standard input or output (archives only)
 *
 * Reading takes any archive, whatever its format, and unpacks gzip. Kaldi's archives have acoustic costs unscaled as a rule, as we have them; of
 * one that was written scaled, trl_lattice_rescale makes what is needed here. Lattices that are not in order are put so, and what leads
 * to no end is left out. A plain lattice is read as it is, with a frame and at most one word on each arc: the same word string may
 * then have many paths, of which trl_lattice_determinize leaves the best.
 *
 * Labels of words and transition ids stand as numbers in archives: a table (words.txt) goes with them.
 */
#ifndef TRELLIS_LATTICE_FILE_H
#define TRELLIS_LATTICE_FILE_H

#include <trellis/lattice.h>

TRL_BEGIN_DECLS

typedef struct trl_lattice_reader trl_lattice_reader;
typedef struct trl_lattice_writer trl_lattice_writer;

/* The lattices get `words` (shared) as their table; NULL: one that the file has, or none. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EUNSUPPORTED (fst:),
 * TRL_ENOMEM. */
TRL_API int trl_lattice_reader_open(const char *place, trl_symbols *words, trl_lattice_reader **out, trl_error *err);
TRL_API void trl_lattice_reader_close(trl_lattice_reader *reader);

/* The next lattice: 1 with *id (until the next call) and the lattice, which is the caller's; 0 at the end; or TRL_EFORMAT, TRL_ECORRUPT,
 * TRL_ENUMBER (a cost that is no number), TRL_EUNSUPPORTED, TRL_ELIMIT with file, line or byte, and utterance. */
TRL_API int trl_lattice_reader_next(trl_lattice_reader *reader, const char **id, trl_lattice **lattice, trl_error *err);

/* `scale` is for fst: alone; NULL: 1, 1, 0. Nothing appears under its name before the commit; folders are filled file by file. */
TRL_API int trl_lattice_writer_open(const char *place, const trl_lattice_scale *scale, trl_lattice_writer **out,
                                    trl_error *err);
TRL_API int trl_lattice_writer_add(trl_lattice_writer *writer, const char *id, const trl_lattice *lattice,
                                   trl_error *err);

/* Both free the writer. */
TRL_API int trl_lattice_writer_commit(trl_lattice_writer *writer, trl_error *err);
TRL_API void trl_lattice_writer_abort(trl_lattice_writer *writer);

TRL_END_DECLS

#endif
