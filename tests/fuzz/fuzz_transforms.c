/* Files of speakers' transforms: once as the bytes are, and once with the checksums put right. */
#include "adapt/fmllr.h"
#include "adapt/speakers.h"
#include "../container_repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size)
{
    trl__container *container;
    trl__transforms *transforms;
    trl_error err;
    if (trl__container_from_memory("fuzz", data, size, "transforms", 1, &container, &err) < 0 ||
        trl__transforms_from_container(container, &transforms, &err) < 0)
        return;
    for (size_t i = 0; i < transforms->names.count; i++) {
        double log_det;
        const trl_matrix *m = trl__transforms_get(transforms, transforms->names.texts[i]);
        if (m != &transforms->matrix[i] || (transforms->dim < 50 && trl__fmllr_log_det(m, &log_det, &err) < 0))
            abort();
    }
    trl__transforms_destroy(transforms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    uint8_t *copy = size >= 64 ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    container_repair(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
