/* All of trellis: includes every public header. Each of them can be included alone. */
#ifndef TRELLIS_TRELLIS_H
#define TRELLIS_TRELLIS_H

#include <trellis/align.h>
#include <trellis/alignment_file.h>
#include <trellis/api.h>
#include <trellis/audio.h>
#include <trellis/audio_stream.h>
#include <trellis/corpus.h>
#include <trellis/decode.h>
#include <trellis/decode_stream.h>
#include <trellis/device.h>
#include <trellis/error.h>
#include <trellis/extract.h>
#include <trellis/feature_file.h>
#include <trellis/file.h>
#include <trellis/finding.h>
#include <trellis/frontend.h>
#include <trellis/fst.h>
#include <trellis/fst_compose.h>
#include <trellis/fst_file.h>
#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>
#include <trellis/fst_structure.h>
#include <trellis/grammar.h>
#include <trellis/graph.h>
#include <trellis/label_file.h>
#include <trellis/lattice.h>
#include <trellis/lattice_file.h>
#include <trellis/lattice_oracle.h>
#include <trellis/lattice_rescore.h>
#include <trellis/lexicon.h>
#include <trellis/likelihood.h>
#include <trellis/lm.h>
#include <trellis/log.h>
#include <trellis/matrix.h>
#include <trellis/model.h>
#include <trellis/nbest_file.h>
#include <trellis/pool.h>
#include <trellis/progress.h>
#include <trellis/score.h>
#include <trellis/symbols.h>
#include <trellis/train.h>
#include <trellis/transduce.h>
#include <trellis/version.h>

#endif
