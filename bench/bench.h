/* Named benchmarks: each measures, prints a table for people, and fills a JSON object for machines. */
#ifndef TRELLIS_BENCH_H
#define TRELLIS_BENCH_H

#include <jansson.h>

typedef struct bench_options {
    int quick;          /* within a minute, same keys */
    const char *corpus; /* NULL: the benchmark's choice */
} bench_options;

typedef struct bench {
    const char *name, *summary;
    int (*run)(const bench_options *options, json_t *result); /* 0, or an exit code */
} bench;

extern const bench bench_features;

double bench_cpu_seconds(void); /* of the process, all threads */
double bench_wall_seconds(void);

/* Prints "name  value unit" and stores the value under the key. */
void bench_report(json_t *result, const char *key, double value, const char *unit, const char *meaning);

#endif
