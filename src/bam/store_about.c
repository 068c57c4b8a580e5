#include "bam/store_about.h"
#include "bam/bam_stream.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/model_data.h"

#include <string.h>

static int is_possible(const trl__store_header *h)
{
    return h->order >= 1 && h->order <= TRL_BAM_ORDER_MOST && h->dim >= 1 && h->dim <= TRL__DIM_MOST &&
           h->word_boundaries <= 1 && h->partitions >= 1;
}

int trl__store_about_read(const trl__container *file, trl__store_about *about, trl_error *err)
{
    const void *header, *cells, *parts;
    size_t headers, cell_count, part_count;
    char *phones = NULL;
    int code = trl__container_array(file, "store", sizeof about->header, &header, &headers, err);
    if (code == 0)
        code = trl__container_array(file, "counts", sizeof(trl_bam_cell), &cells, &cell_count, err);
    if (code == 0)
        code = trl__container_array(file, "partitions", sizeof(trl__store_part), &parts, &part_count, err);
    if (code == 0)
        code = trl__container_text(file, "phones", &phones, err);
    if (code == 0 && headers == 1)
        memcpy(&about->header, header, sizeof about->header);
    if (code == 0 && (headers != 1 || !is_possible(&about->header) || part_count != about->header.partitions ||
                      cell_count * sizeof(trl_bam_cell) != sizeof about->counts.cell))
        code = trl__fail(err, TRL_ECORRUPT, "%s: the numbers of the store contradict each other",
                         trl__container_path(file));
    if (code == 0) {
        memcpy(about->counts.cell, cells, sizeof about->counts.cell);
        code = trl_bam_phones_of_text(phones ? phones : "", (int)about->header.word_boundaries, &about->phones, err);
        code = trl__fail_in(err, code, trl__container_path(file));
    }
    if (code == 0 && !(about->parts = trl__alloc(part_count, sizeof *about->parts)))
        code = trl__fail_memory(err);
    if (code == 0)
        memcpy(about->parts, parts, part_count * sizeof *about->parts);
    trl__free(phones);
    return code;
}

void trl__store_about_free(trl__store_about *about)
{
    trl_bam_phones_destroy(about->phones);
    trl__free(about->parts);
    *about = (trl__store_about){0};
}

trl_bam_store_facts trl__store_facts(const trl__store_about *about)
{
    const trl__store_header *h = &about->header;
    trl_bam_store_facts f = {.order = (int)h->order,
                             .dim = (int)h->dim,
                             .word_boundaries = (int)h->word_boundaries,
                             .partitions = (int)h->partitions,
                             .seed = h->seed,
                             .model = h->model,
                             .least_frames = h->least_frames,
                             .most_frames = h->most_frames,
                             .alpha = h->alpha,
                             .beta = h->beta,
                             .variance_floor = h->variance_floor,
                             .iterations = (int)h->iterations,
                             .smallest = UINT64_MAX};
    for (uint32_t i = 0; i < h->partitions; i++) {
        uint64_t bytes = about->parts[i].bytes;
        f.mphones += about->parts[i].mphones;
        f.bytes += bytes;
        f.largest = bytes > f.largest ? bytes : f.largest;
        f.smallest = bytes < f.smallest ? bytes : f.smallest;
    }
    return f;
}

void trl__store_mixture(const unsigned char *bytes, size_t dim, trl_bam_mixture *m)
{
    const float *floats = (const float *)(const void *)(bytes + TRL__BAM_MIXTURE_HEAD);
    size_t components = trl__le32(bytes);
    *m = (trl_bam_mixture){.components = (int32_t)components,
                           .sampled = trl__le32(bytes + 4) != 0,
                           .frames = trl__le64(bytes + 8),
                           .log_weight = floats,
                           .mean = floats + components,
                           .variance = floats + components * (1 + dim)};
}
