/* trellis-bench NAME [--json FILE] [--quick] [--corpus PLACE] [--plot FILE] [--device NAME] */
#include "../programs/large_blocks.h"
#include "bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trellis/file.h>
#include <trellis/version.h>
#include <unistd.h>

static const bench *const benches[] = {&bench_bam,    &bench_decode, &bench_devices, &bench_features, &bench_fst,
                                       &bench_ladder, &bench_lvcsr,  &bench_stream,  &bench_train};

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_wall_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

void bench_report(json_t *result, const char *key, double value, const char *unit, const char *meaning)
{
    printf("  %-32s %12.4g %-8s %s\n", key, value, unit, meaning);
    json_object_set_new(result, key, json_real(value));
}

void bench_absent(json_t *result, const char *key, const char *why)
{
    printf("  %-32s %12s %-8s %s\n", key, "-", "", why);
    json_object_set_new(result, key, json_null());
}

void bench_check(int code, const trl_error *err)
{
    if (code < 0) {
        fprintf(stderr, "trellis-bench: %s\n", err->text);
        exit(3);
    }
}

void bench_folder(char *path, size_t size)
{
    snprintf(path, size, "%s/bench-XXXXXX", TRELLIS_BUILD_DIR);
    if (!mkdtemp(path)) {
        perror(path);
        exit(3);
    }
}

void bench_remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inner[4400];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(dirfd(folder), entry->d_name, 0) == 0)
            continue;
        snprintf(inner, sizeof inner, "%.4096s/%.300s", path, entry->d_name);
        bench_remove_folder(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

const char *bench_shared(const char *name, char path[4096])
{
    const char *shared = getenv("TRELLIS_SHARED");
    snprintf(path, 4096, "%s/data/%s", shared ? shared : TRELLIS_SOURCE_DIR "/../shared", name);
    return access(path, R_OK) == 0 ? path : NULL;
}

static int usage(void)
{
    fputs("usage: trellis-bench NAME [--json FILE] [--quick] [--tiny] [--corpus PLACE] [--plot FILE] [--device NAME]\n",
          stderr);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        fprintf(stderr, "  %-12s %s\n", benches[i]->name, benches[i]->summary);
    return 2;
}

static int write_json(const char *path, const json_t *result)
{
    trl_error err;
    trl_file *file;
    char *text = json_dumps(result, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    int code = text ? trl_file_create(path, &file, &err) : -1;
    if (code == 0) {
        code = trl_file_print(file, &err, "%s\n", text);
        if (code == 0)
            code = trl_file_commit(file, &err);
        else
            trl_file_abort(file);
    }
    if (code < 0)
        fprintf(stderr, "trellis-bench: %s\n", text ? err.text : "out of memory");
    free(text);
    return code < 0 ? 3 : 0;
}

static int run(const bench *b, const bench_options *options, const char *json)
{
    json_t *result = json_object();
    json_object_set_new(result, "benchmark", json_string(b->name));
    json_object_set_new(result, "version", json_string(trl_version()));
    json_object_set_new(result, "instruction_set", json_string(trl_cpu_level()));
    json_object_set_new(result, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(result, "quick", json_boolean(options->quick));
    printf("%s, trellis %s, %s, %ld cores%s\n", b->name, trl_version(), trl_cpu_level(), sysconf(_SC_NPROCESSORS_ONLN),
           options->quick ? ", quick" : "");
    int code = b->run(options, result);
    if (code == 0 && json)
        code = write_json(json, result);
    json_decref(result);
    return code;
}

int main(int argc, char **argv)
{
    bench_options options = {0};
    const char *json = NULL, *name = NULL;
    return_large_blocks();            /* as the command does, so that memory is measured as it is used */
    setvbuf(stdout, NULL, _IOLBF, 0); /* figures appear as they are measured, in a pipe too */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            options.quick = 1;
        else if (strcmp(argv[i], "--tiny") == 0)
            options.quick = options.tiny = 1;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc && argv[i + 1][0] != '-')
            json = argv[++i];
        else if (strcmp(argv[i], "--corpus") == 0 && i + 1 < argc && argv[i + 1][0] != '-')
            options.corpus = argv[++i];
        else if (strcmp(argv[i], "--plot") == 0 && i + 1 < argc && argv[i + 1][0] != '-')
            options.plot = argv[++i];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc && argv[i + 1][0] != '-')
            options.device = argv[++i];
        else if (argv[i][0] != '-' && !name)
            name = argv[i];
        else
            return usage();
    }
    for (size_t i = 0; name && i < sizeof benches / sizeof *benches; i++)
        if (strcmp(name, benches[i]->name) == 0)
            return run(benches[i], &options, json);
    return usage();
}
