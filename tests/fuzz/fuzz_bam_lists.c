/* Any bytes as N-best lists, of decode or rescored. What is accepted has hypotheses, and rescored ones have scores to choose by. */
#include "bam/bam_lists.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const trl_bam_weights weights = {0.5, 0.1, 10};
    trl__text text;
    trl_bam_lists *lists;
    trl_error err;
    if (trl__text_from_memory("lists", data, size, &text, &err) < 0)
        return 0;
    if (trl__lists_parse("lists", &text, &lists, &err) == 0) {
        for (size_t i = 0; i < trl_bam_lists_count(lists); i++) {
            trl_bam_list list = trl_bam_lists_get(lists, i);
            if (list.count == 0)
                abort();
            size_t best = trl_bam_choose(list, &weights);
            if (trl_bam_lists_run(lists)->rescored && isnan(trl_bam_score(&list.hypotheses[best], &weights)))
                abort();
        }
        trl_bam_lists_destroy(lists);
    }
    trl__text_free(&text);
    return 0;
}
