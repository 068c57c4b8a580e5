/* Named benchmarks: each measures, prints a table for people, and fills a JSON object for machines. */
#ifndef TRELLIS_BENCH_H
#define TRELLIS_BENCH_H

#include <jansson.h>
#include <stddef.h>
#include <trellis/error.h>

typedef struct bench_options {
    int quick;          /* within a minute, same keys */
    int tiny;           /* within seconds, same keys: for tests, the figures mean nothing */
    const char *corpus; /* NULL: the benchmark's choice */
    const char *plot;   /* a picture to draw; NULL: none */
    const char *device; /* opencl:1, cuda:1; NULL: the benchmark's choice */
} bench_options;

typedef struct bench {
    const char *name, *summary;
    int (*run)(const bench_options *options, json_t *result); /* 0, or an exit code */
} bench;

extern const bench bench_bam, bench_decode, bench_devices, bench_features, bench_fst, bench_ladder, bench_lvcsr,
    bench_stream, bench_train;

double bench_cpu_seconds(void); /* of the process, all threads */
double bench_wall_seconds(void);

/* Prints "name  value unit" and stores the value under the key. */
void bench_report(json_t *result, const char *key, double value, const char *unit, const char *meaning);

/* A key without a figure: null, and why. */
void bench_absent(json_t *result, const char *key, const char *why);

void bench_check(int code, const trl_error *err); /* ends the program with the error's text when code is negative */

/* A new folder for files of this run, under the build folder; and its end, with the files in it. */
void bench_folder(char *path, size_t size);
void bench_remove_folder(const char *path);

/* "opencl:N" or "cuda:N", by family: the one that was asked for, else the first graphics processor, else 0. Whether it is there is not looked at. */
#define BENCH_DEVICE_NAME 24
void bench_device(const bench_options *options, const char *family, char name[BENCH_DEVICE_NAME]);

/* ../shared/data/NAME, or that in the folder which TRELLIS_SHARED names; NULL when it is not there. */
const char *bench_shared(const char *name, char path[4096]);

/* Peak of one core with the instruction set of a level ("avx2" …), in FLOP/s: independent chains of fused
 * multiply-adds. */
double bench_fma_peak(const char *level);

#endif
