/* English as Debian installs it (pocketsphinx-en-us) beside pocketsphinx: the same acoustic model, dictionary and language model on both sides. */
#include "lvcsr_bench.h"

static const char *measure(lvcsr_bench *b)
{
    (void)b;
    return "not measured yet";
}

static const char *const keys[] = {"speed_vs_pocketsphinx_at_equal_wer", "wer_gap_to_pocketsphinx", "peak_mb", NULL};

const lvcsr_part lvcsr_english = {"english", keys, measure};
