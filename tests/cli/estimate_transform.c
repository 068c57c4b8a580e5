/* Transforms from frames on standard input: estimate_transform lda KEEP, or estimate_transform stc ROUNDS.
 *
 * In: four int32: frames, values of a frame, classes (Gaussians), 0; the frames, as floats; the class of each frame, as int32; for
 * stc also means and variances, as floats. Out, as doubles: lda: kept, constant, transform; stc: gain, log |det a|, a. */
#include "model/lda.h"
#include "model/stc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct input {
    int32_t head[4];
    trl_matrix frames;
    int32_t *class_of;
    float *mean, *variance;
} input;

static void *read_numbers(size_t count)
{
    void *numbers = calloc(count + 1, 4);
    if (!numbers || fread(numbers, 4, count, stdin) != count) {
        fprintf(stderr, "estimate_transform: the input is too short\n");
        exit(1);
    }
    return numbers;
}

static void write_numbers(const double *numbers, size_t count)
{
    if (fwrite(numbers, sizeof *numbers, count, stdout) != count)
        exit(1);
}

static int lda(const input *in, int32_t keep, trl_error *err)
{
    trl__lda_stats *stats;
    trl__lda_summary summary;
    trl_matrix a = {0};
    int code = trl__lda_stats_create(in->head[1], in->head[2], &stats, err);
    if (code < 0)
        return code;
    code = trl__lda_stats_add(stats, &in->frames, in->class_of, err);
    if (code == 0)
        code = trl__lda_estimate(stats, keep, &a, &summary, err);
    if (code == 0)
        write_numbers((double[]){summary.kept, summary.constant}, 2);
    for (size_t i = 0; code == 0 && i < a.rows * a.cols; i++)
        write_numbers(&(double){(double)a.data[i]}, 1);
    trl_matrix_free(&a);
    trl__lda_stats_destroy(stats);
    return code;
}

static int stc(const input *in, int32_t rounds, trl_error *err)
{
    int32_t first[] = {0, in->head[2]};
    size_t size = (size_t)in->head[1] * (size_t)in->head[1];
    trl_model model = {
        .dim = in->head[1], .tied_states = 1, .first_gaussian = first, .mean = in->mean, .variance = in->variance};
    trl__stc_stats *stats;
    trl__stc_summary summary;
    double *a = calloc(size + 1, sizeof *a);
    int code = a ? trl__stc_stats_create(in->head[1], &stats, err) : TRL_ENOMEM;
    if (code == 0) {
        code = trl__stc_stats_add(stats, &model, &in->frames, in->class_of, err);
        if (code == 0)
            code = trl__stc_estimate(stats, rounds, a, &summary, err);
        trl__stc_stats_destroy(stats);
    }
    if (code == 0) {
        write_numbers((double[]){summary.gain, summary.log_det}, 2);
        write_numbers(a, size);
    }
    free(a);
    return code;
}

int main(int argc, char **argv)
{
    trl_error err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: estimate_transform lda KEEP | stc ROUNDS\n");
        return 2;
    }
    input in = {0};
    int32_t *head = read_numbers(4);
    memcpy(in.head, head, sizeof in.head);
    free(head);
    size_t frames = (size_t)in.head[0], dim = (size_t)in.head[1], gaussians = (size_t)in.head[2];
    int is_stc = strcmp(argv[1], "stc") == 0;
    in.frames = (trl_matrix){.data = read_numbers(frames * dim), .rows = frames, .cols = dim, .stride = dim};
    in.class_of = read_numbers(frames);
    in.mean = read_numbers(is_stc ? gaussians * dim : 0);
    in.variance = read_numbers(is_stc ? gaussians * dim : 0);
    int32_t number = (int32_t)strtol(argv[2], NULL, 10);
    int code = is_stc ? stc(&in, number, &err) : lda(&in, number, &err);
    if (code < 0)
        fprintf(stderr, "%s\n", err.text);
    free(in.frames.data);
    free(in.class_of);
    free(in.mean);
    free(in.variance);
    return code < 0;
}
