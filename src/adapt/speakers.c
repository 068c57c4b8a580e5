/* Transforms by speaker, and their file: a container of kind "transforms", version 1 (docs/formats.md). */
#include "adapt/speakers.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define KIND "transforms"
#define VERSION 1

typedef struct file_header {
    uint32_t dim, speakers;
} file_header;

static size_t numbers_of(int32_t dim)
{
    return (size_t)dim * ((size_t)dim + 1);
}

int trl__transforms_create(int32_t dim, trl__transforms **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    (*out)->dim = dim;
    return 0;
}

void trl__transforms_destroy(trl__transforms *transforms)
{
    if (!transforms)
        return;
    for (size_t i = 0; i < transforms->names.count; i++)
        trl_matrix_free(&transforms->matrix[i]);
    trl__strings_free(&transforms->names);
    trl__free(transforms->matrix);
    trl__free(transforms);
}

/* A copy without gaps. */
static int copy(const trl_matrix *from, trl_matrix *to, trl_error *err)
{
    int code = trl_matrix_resize(to, from->rows, from->cols, err);
    for (size_t r = 0; code == 0 && r < from->rows; r++)
        memcpy(trl_matrix_row(to, r), trl_matrix_row(from, r), from->cols * sizeof *to->data);
    return code;
}

int trl__transforms_set(trl__transforms *transforms, const char *speaker, const trl_matrix *transform, trl_error *err)
{
    trl__strings *names = &transforms->names;
    size_t dim = (size_t)transforms->dim, count = names->count;
    trl_matrix new = {0};
    if (transform->rows != dim || transform->cols != dim + 1)
        return trl__fail(err, TRL_EINVAL, "speaker %s: a transform of %zu x %zu numbers instead of %zu x %zu", speaker,
                         transform->rows, transform->cols, dim, dim + 1);
    for (size_t r = 0; r < dim; r++)
        for (size_t k = 0; k <= dim; k++)
            if (!isfinite(trl_matrix_row(transform, r)[k]))
                return trl__fail(err, TRL_ENUMBER, "speaker %s: row %zu of the transform is not finite", speaker, r);
    if (TRL_GROW(transforms->matrix, transforms->capacity, count + 1) < 0)
        return trl__fail_memory(err);
    int code = copy(transform, &new, err);
    long number = code == 0 ? trl__strings_add(names, speaker, strlen(speaker)) : -1;
    if (number < 0) {
        trl_matrix_free(&new);
        return code < 0 ? code : trl__fail_memory(err);
    }
    if ((size_t)number < count)
        trl_matrix_free(&transforms->matrix[number]);
    transforms->matrix[number] = new;
    return 0;
}

const trl_matrix *trl__transforms_get(const trl__transforms *transforms, const char *speaker)
{
    long number = trl__strings_find(&transforms->names, speaker, strlen(speaker));
    return number < 0 ? NULL : &transforms->matrix[number];
}

/* ---- The file ---- */

static int write_sections(const trl__transforms *transforms, trl__container_writer *writer, trl_error *err)
{
    const trl__strings *names = &transforms->names;
    const file_header header = {(uint32_t)transforms->dim, (uint32_t)names->count};
    int code = trl__container_add(writer, "transforms", &header, sizeof header, err);
    if (code == 0)
        code = trl__container_begin(writer, "speakers", 0, err);
    for (size_t i = 0; code == 0 && i < names->count; i++)
        code = trl__container_write(writer, names->texts[i], strlen(names->texts[i]) + 1, err);
    if (code == 0)
        code = trl__container_begin(writer, "matrices", 0, err);
    for (size_t i = 0; code == 0 && i < names->count; i++)
        code =
            trl__container_write(writer, transforms->matrix[i].data, numbers_of(transforms->dim) * sizeof(float), err);
    return code;
}

int trl__transforms_write(const trl__transforms *transforms, const char *path, trl_error *err)
{
    trl__container_writer *writer;
    int code = trl__container_create(path, KIND, VERSION, &writer, err);
    if (code < 0)
        return code;
    code = write_sections(transforms, writer, err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

static int corrupt(const trl__container *file, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(file), what);
}

/* The numbers of dimensions and speakers, compared with the size of the section that has all matrices. */
static int read_header(const trl__container *file, file_header *header, const float **matrices, trl_error *err)
{
    const void *bytes = NULL, *numbers = NULL;
    size_t count, size, expected;
    int code = trl__container_array(file, "transforms", sizeof *header, &bytes, &count, err);
    if (code == 0)
        code = trl__container_array(file, "matrices", sizeof(float), &numbers, &size, err);
    if (code != 0)
        return code;
    if (count != 1)
        return corrupt(file, "section 'transforms' has not one record", err);
    memcpy(header, bytes, sizeof *header);
    *matrices = numbers;
    if (header->dim < 1 || header->dim > TRL__DIM_MOST)
        return corrupt(file, "no possible number of dimensions", err);
    if (__builtin_mul_overflow(numbers_of((int32_t)header->dim), (size_t)header->speakers, &expected) ||
        size != expected)
        return trl__fail(err, TRL_ECORRUPT,
                         "%s: section 'matrices' has %zu numbers for %" PRIu32 " speakers of %" PRIu32 " dimensions",
                         trl__container_path(file), size, header->speakers, header->dim);
    return 0;
}

static int read_speaker(const trl__container *file, const char *name, size_t length, const float *numbers,
                        trl__transforms *transforms, trl_error *err)
{
    size_t dim = (size_t)transforms->dim, count = transforms->names.count;
    const trl_matrix view = {
        .data = (float *)(uintptr_t)numbers, .rows = dim, .cols = dim + 1, .stride = dim + 1, .capacity = 0};
    if (length == 0 || trl__utf8_check(name, length) < length)
        return corrupt(file, "the name of a speaker is not UTF-8, or empty", err);
    int code = trl__transforms_set(transforms, name, &view, err);
    if (code == TRL_ENUMBER)
        return trl__fail_byte(err, code, trl__container_path(file), trl__container_offset(file, numbers),
                              "a transform has a number that is not finite");
    return code < 0 || transforms->names.count > count ? code : corrupt(file, "a speaker has two transforms", err);
}

static int read_speakers(const trl__container *file, uint32_t speakers, const float *matrices,
                         trl__transforms *transforms, trl_error *err)
{
    const void *bytes;
    uint64_t size;
    int code = trl__container_section(file, "speakers", &bytes, &size, err);
    if (code < 0)
        return code;
    const char *name = bytes, *end = name + size;
    for (uint32_t i = 0; code == 0 && i < speakers; i++, matrices += numbers_of(transforms->dim)) {
        const char *stop = name < end ? memchr(name, '\0', (size_t)(end - name)) : NULL;
        if (!stop)
            return corrupt(file, "there are fewer names of speakers than transforms", err);
        code = read_speaker(file, name, (size_t)(stop - name), matrices, transforms, err);
        name = stop + 1;
    }
    return code < 0 || name == end ? code : corrupt(file, "there are more names of speakers than transforms", err);
}

int trl__transforms_from_container(trl__container *file, trl__transforms **out, trl_error *err)
{
    file_header header;
    const float *matrices = NULL;
    *out = NULL;
    int code = read_header(file, &header, &matrices, err);
    if (code == 0)
        code = trl__transforms_create((int32_t)header.dim, out, err);
    if (code == 0)
        code = read_speakers(file, header.speakers, matrices, *out, err);
    trl__container_close(file);
    if (code < 0) {
        trl__transforms_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__transforms_read(const char *path, trl__transforms **out, trl_error *err)
{
    *out = NULL;
    trl__container *file;
    int code = trl__container_open(path, KIND, VERSION, &file, err);
    return code < 0 ? code : trl__transforms_from_container(file, out, err);
}
