/* trellis bam info, get, export: looking into a store. */
#include "bam_command.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/bam_store.h>
#include <trellis/file.h>

extern const cli_command cmd_bam_export, cmd_bam_get, cmd_bam_info;

/* ---- info ---- */

struct info_values {
    cli_common common;
    const char *model;
    int check;
};

static void print_facts(const trl_bam_store *store)
{
    trl_bam_store_facts f = trl_bam_store_describe(store);
    trl_bam_cell all = trl_bam_total(trl_bam_store_counts(store));
    printf("order              %d\n"
           "word boundaries    %s\n"
           "phones             %" PRId32 "\n"
           "dimensions         %d\n"
           "frames             %" PRId64 " to %" PRId64 "\n"
           "alpha, beta        %g, %g\n"
           "variance floor     %g\n"
           "iterations         %d\n"
           "seed               %" PRIu64 "\n"
           "first-pass model   %016" PRIx64 "\n"
           "partitions         %d, %.2f MB; largest %.2f, smallest %.2f\n"
           "M-phones seen      %" PRIu64 "\n"
           "M-phones kept      %" PRIu64 ", %" PRIu64 " from a sample\n"
           "Gaussians          %" PRIu64 "\n",
           f.order, f.word_boundaries ? "on" : "off", trl_bam_phones_count(trl_bam_store_phones(store)), f.dim,
           f.least_frames, f.most_frames, f.alpha, f.beta, f.variance_floor, f.iterations, f.seed, f.model,
           f.partitions, (double)f.bytes * 1e-6, (double)f.largest * 1e-6, (double)f.smallest * 1e-6, all.mphones,
           all.kept, all.sampled, all.gaussians);
    puts("\nGaussians by left and right context size ([001] Table V)");
    bam_print_table(stdout, trl_bam_store_counts(store), f.order, 0);
    puts("\nM-phones by left and right context size ([001] Table VI)");
    bam_print_table(stdout, trl_bam_store_counts(store), f.order, 1);
}

static int check_model(const trl_bam_store *store, const char *path, trl_error *err)
{
    trl_model *model;
    int code = trl_model_import(path, NULL, &model, err);
    if (code < 0)
        return code;
    code = trl_bam_store_fits(store, model, err);
    trl_model_destroy(model);
    return code;
}

static int run_info(void *values, int count, char **arguments)
{
    const struct info_values *v = values;
    trl_bam_store *store;
    trl_error err;
    (void)count;
    if (trl_bam_store_open(arguments[0], &store, &err) < 0)
        return cli_failure(&err);
    int code = v->check ? trl_bam_store_check(store, &err) : 0;
    if (code == 0 && v->model)
        code = check_model(store, v->model, &err);
    if (code == 0)
        print_facts(store);
    trl_bam_store_close(store);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option info_options[] = {
    {"check", 0, CLI_FLAG, offsetof(struct info_values, check), NULL, "read all of it and compare checksums"},
    {"model", 0, CLI_TEXT, offsetof(struct info_values, model), "MODEL",
     "fail if the store was not made with this first-pass model"},
    {0}};

const cli_command cmd_bam_info = {
    .name = "bam info",
    .synopsis = "STORE",
    .summary = "says what is in a store of M-phones",
    .description = "Options, sizes, and the numbers of Gaussians and M-phones by left and right context size.",
    .options = info_options,
    .examples = "trellis bam info bam.store --check",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct info_values),
    .run = run_info,
};

/* ---- get and export: text ---- */

typedef struct ranges {
    double *least, *most; /* by dimension: means, then logarithms of variances */
} ranges;

typedef struct export_job {
    trl_file *out;
    const trl_bam_phones *phones;
    int order, dim, quantised;
    ranges r;
    double mean_error, variance_error, worst; /* squares of standard deviations; of logarithms */
    uint64_t numbers;
} export_job;

static int print_floats(trl_file *out, const float *values, int count, trl_error *err)
{
    int code = 0;
    for (int i = 0; code == 0 && i < count; i++)
        code = trl_file_print(out, err, " %.9g", (double)values[i]);
    return code;
}

/* The step that a value falls on, of 256 between the least and the most. */
static int step_of(const export_job *j, int place, double value)
{
    double width = j->r.most[place] - j->r.least[place];
    return width > 0 ? (int)lround((value - j->r.least[place]) / width * 255) : 0;
}

static double value_of(const export_job *j, int place, int step)
{
    return j->r.least[place] + (j->r.most[place] - j->r.least[place]) * step / 255;
}

/* How far the steps are from the numbers: means in standard deviations, variances as ratios. */
static void measure(export_job *j, const trl_bam_mixture *m, size_t g)
{
    for (int k = 0; k < j->dim; k++) {
        double variance = (double)m->variance[g * (size_t)j->dim + (size_t)k], logarithm = log(variance);
        double mean = (double)m->mean[g * (size_t)j->dim + (size_t)k];
        double off = (value_of(j, k, step_of(j, k, mean)) - mean) / sqrt(variance);
        double ratio = value_of(j, j->dim + k, step_of(j, j->dim + k, logarithm)) - logarithm;
        j->mean_error += off * off;
        j->variance_error += ratio * ratio;
        j->worst = fabs(off) > j->worst ? fabs(off) : j->worst;
        j->numbers++;
    }
}

static int print_steps(export_job *j, const trl_bam_mixture *m, size_t g, trl_error *err)
{
    const float *mean = m->mean + g * (size_t)j->dim, *variance = m->variance + g * (size_t)j->dim;
    int code = trl_file_print(j->out, err, "  %.9g", (double)m->log_weight[g]);
    for (int k = 0; code == 0 && k < j->dim; k++)
        code = trl_file_print(j->out, err, " %d", step_of(j, k, (double)mean[k]));
    for (int k = 0; code == 0 && k < j->dim; k++)
        code = trl_file_print(j->out, err, " %d", step_of(j, j->dim + k, log((double)variance[k])));
    measure(j, m, g);
    return code < 0 ? code : trl_file_print(j->out, err, "\n");
}

static int print_mixture(void *user, const unsigned char *key, const trl_bam_mixture *m, trl_error *err)
{
    export_job *j = user;
    char text[2000];
    trl_bam_key_format(j->phones, j->order, key, text, sizeof text);
    int code = trl_file_print(j->out, err, "%s\t%" PRId32 " Gaussians of %s%" PRIu64 " frames\n", text, m->components,
                              m->sampled ? "a sample of " : "", m->frames);
    for (size_t g = 0; code == 0 && g < (size_t)m->components; g++) {
        if (j->quantised) {
            code = print_steps(j, m, g, err);
            continue;
        }
        code = trl_file_print(j->out, err, "  %.9g", (double)m->log_weight[g]);
        if (code == 0)
            code = print_floats(j->out, m->mean + g * (size_t)j->dim, j->dim, err);
        if (code == 0)
            code = print_floats(j->out, m->variance + g * (size_t)j->dim, j->dim, err);
        if (code == 0)
            code = trl_file_print(j->out, err, "\n");
    }
    return code;
}

struct get_values {
    cli_common common;
    int back_off;
};

static int get(trl_bam_lookup *lookup, const struct get_values *v, const char *text, trl_error *err)
{
    trl_bam_store_facts f = trl_bam_lookup_describe(lookup);
    export_job j = {.phones = trl_bam_lookup_phones(lookup), .order = f.order, .dim = f.dim};
    unsigned char key[TRL_BAM_KEY_MOST];
    trl_bam_mixture m = {0};
    int code = trl_bam_key_parse(j.phones, f.order, text, key, err);
    if (code == 0)
        code = trl_bam_lookup_get(lookup, key, v->back_off, &m, err);
    if (code == 0)
        return cli_error(err, TRL_ENOENT, "the store has no M-phone %s%s", text,
                         v->back_off ? ", and none that it backs off to" : "; --back-off looks for shorter ones");
    if (code > 0)
        code = trl_file_create("-", &j.out, err);
    if (code == 0)
        code = print_mixture(&j, key, &m, err);
    if (code == 0)
        return trl_file_commit(j.out, err);
    trl_file_abort(j.out);
    return code;
}

static int run_get(void *values, int count, char **arguments)
{
    trl_bam_lookup *lookup;
    trl_error err;
    (void)count;
    if (trl_bam_lookup_open(arguments[0], &lookup, &err) < 0)
        return cli_failure(&err);
    int code = get(lookup, values, arguments[1], &err);
    trl_bam_lookup_close(lookup);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option get_options[] = {{"back-off", 0, CLI_FLAG, offsetof(struct get_values, back_off), NULL,
                                          "if it is not there, the longest one that it backs off to"},
                                         {0}};

const cli_command cmd_bam_get = {
    .name = "bam get",
    .synopsis = "STORE KEY",
    .summary = "prints the mixture of an M-phone",
    .description = "KEY is written as `ih_1 / ae k sh ___ n sil`: phone and state from 1, the symbols before it, ___, "
                   "those behind it; # is a word boundary. STORE is a folder, or redis://HOST:PORT/NAME: a model that "
                   "`trellis bam load` has brought to servers. "
                   "Printed are its Gaussians, a line each: log weight, means, variances.",
    .options = get_options,
    .examples = "trellis bam get bam.store \"ih_1 / sh ___ n\"\n"
                "trellis bam get bam.store \"ih_1 / ae k sh ___ n sil\" --back-off",
    .least = 2,
    .most = 2,
    .values_size = sizeof(struct get_values),
    .run = run_get,
};

struct export_values {
    cli_common common;
    const char *output;
    int bits;
};

static int widen(void *user, const unsigned char *key, const trl_bam_mixture *m, trl_error *err)
{
    export_job *j = user;
    (void)key, (void)err;
    for (size_t i = 0; i < (size_t)m->components * (size_t)j->dim; i++) {
        size_t k = i % (size_t)j->dim, v = k + (size_t)j->dim;
        double mean = (double)m->mean[i], variance = log((double)m->variance[i]);
        j->r.least[k] = fmin(j->r.least[k], mean);
        j->r.most[k] = fmax(j->r.most[k], mean);
        j->r.least[v] = fmin(j->r.least[v], variance);
        j->r.most[v] = fmax(j->r.most[v], variance);
    }
    return 0;
}

static int find_ranges(export_job *j, trl_bam_store *store, trl_error *err)
{
    size_t places = 2 * (size_t)j->dim;
    j->r.least = malloc(places * sizeof *j->r.least);
    j->r.most = malloc(places * sizeof *j->r.most);
    if (!j->r.least || !j->r.most)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    for (size_t i = 0; i < places; i++) {
        j->r.least[i] = INFINITY;
        j->r.most[i] = -INFINITY;
    }
    int code = trl_bam_store_each(store, widen, j, err);
    if (code == 0)
        code = trl_file_print(j->out, err, "# steps of 256: least and most of each mean, then of each log variance\n");
    for (int which = 0; code == 0 && which < 2; which++) {
        code = trl_file_print(j->out, err, "# %s", which ? "most " : "least");
        for (size_t i = 0; code == 0 && i < places; i++)
            code = trl_file_print(j->out, err, " %.9g", which ? j->r.most[i] : j->r.least[i]);
        if (code == 0)
            code = trl_file_print(j->out, err, "\n");
    }
    return code;
}

static int export_all(const struct export_values *v, trl_bam_store *store, trl_error *err)
{
    trl_bam_store_facts f = trl_bam_store_describe(store);
    export_job j = {.phones = trl_bam_store_phones(store), .order = f.order, .dim = f.dim, .quantised = v->bits == 8};
    int code = trl_file_create(v->output, &j.out, err);
    if (code == 0 && j.quantised)
        code = find_ranges(&j, store, err);
    if (code == 0)
        code = trl_bam_store_each(store, print_mixture, &j, err);
    if (code == 0)
        code = trl_file_commit(j.out, err);
    else
        trl_file_abort(j.out);
    if (code == 0 && j.quantised && j.numbers > 0)
        cli_say(&v->common,
                "8 bits: means are off by %.4f standard deviations (worst %.4f), variances by a factor of %.4f",
                sqrt(j.mean_error / (double)j.numbers), j.worst, exp(sqrt(j.variance_error / (double)j.numbers)));
    free(j.r.least);
    free(j.r.most);
    return code;
}

static int run_export(void *values, int count, char **arguments)
{
    const struct export_values *v = values;
    trl_bam_store *store;
    trl_error err;
    (void)count;
    if (v->bits != 8 && v->bits != 32)
        return cli_usage_error(&cmd_bam_export, "--bits is 32 or 8, not %d", v->bits);
    if (trl_bam_store_open(arguments[0], &store, &err) < 0)
        return cli_failure(&err);
    int code = export_all(v, store, &err);
    trl_bam_store_close(store);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option export_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct export_values, output), "FILE", "text; - (default): standard output"},
    {"bits", 0, CLI_INT, offsetof(struct export_values, bits), "N",
     "of a number: 32 (default), all digits; 8, means and log variances as steps from 0 to 255, and how exact that is"},
    {0}};

const cli_command cmd_bam_export = {
    .name = "bam export",
    .synopsis = "STORE [-o FILE]",
    .summary = "writes all mixtures of a store as text",
    .description = "Partition by partition, in the order of keys: a line with the M-phone, then a line for each "
                   "Gaussian: log weight, means, variances.",
    .options = export_options,
    .examples = "trellis bam export bam.store -o bam.txt\n"
                "trellis bam export bam.store --bits 8 -o bam8.txt",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct export_values),
    .defaults = &(const struct export_values){.output = "-", .bits = 32},
    .run = run_export,
};
