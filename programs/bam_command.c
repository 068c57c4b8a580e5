#include "bam_command.h"

#include <inttypes.h>

int bam_options(const cli_command *command, const bam_mapping *mapping, const bam_estimation *estimation,
                trl_bam_options *options)
{
    trl_error err;
    *options = trl_bam_defaults();
    if (mapping && mapping->seed < 0)
        return cli_usage_error(command, "--seed is a number from 0 up, not %d", mapping->seed);
    if (mapping) {
        options->order = mapping->order;
        options->word_boundaries = !mapping->no_boundaries;
        options->seed = (uint64_t)mapping->seed;
    }
    if (estimation) {
        options->least_frames = estimation->least;
        options->most_frames = estimation->most;
        options->alpha = estimation->alpha;
        options->beta = estimation->beta;
        options->variance_floor = estimation->floor;
        options->iterations = estimation->iterations;
    }
    return trl_bam_options_check(options, &err) < 0 ? cli_refused(command, &err) : 0;
}

int bam_check_weights(const cli_command *command, const trl_bam_weights *weights)
{
    trl_error err;
    return trl_bam_weights_check(weights, &err) < 0 ? cli_refused(command, &err) : 0;
}

void bam_print_table(FILE *out, const trl_bam_counts *counts, int order, int what)
{
    fprintf(out, "%-12s", "left\\right");
    for (int right = 0; right <= order; right++)
        fprintf(out, " %12d", right);
    for (int left = 0; left <= order; left++) {
        fprintf(out, "\n%-12d", left);
        for (int right = 0; right <= order; right++) {
            const trl_bam_cell *cell = &counts->cell[left][right];
            fprintf(out, " %12" PRIu64, what == 0 ? cell->gaussians : cell->kept);
        }
    }
    fputc('\n', out);
}

int bam_inputs_read(const cli_command *command, const cli_common *common, const bam_corpus *v, char **arguments,
                    bam_inputs *in)
{
    trl_corpus_options reading = trl_corpus_defaults();
    trl_error err;
    reading.part = v->part;
    reading.parts = v->parts;
    in->aligning = trl_align_defaults();
    in->aligning.beam = v->beam;
    in->aligning.skip_bad = v->input.skip_bad;
    in->aligning.adapt = v->no_adapt ? 0 : in->aligning.adapt;
    int code = oov_input_parse(command, &v->oov, &in->aligning.unknown_words);
    if (code == 0)
        code = corpus_input_parse(command, &v->input, &reading, &in->aligning.channel);
    if (v->no_text)
        reading.need_text = 0;
    if (code == 0 && trl_align_options_check(&in->aligning, &err) < 0)
        code = cli_refused(command, &err);
    if (code == 0)
        code = cli_pool(common, &in->pool);
    if (code == 0 && trl_model_import(arguments[0], NULL, &in->model, &err) < 0)
        code = cli_failure(&err);
    if (code == 0)
        code = corpus_input_lexicon(&v->input, arguments[2], NULL, &in->lexicon);
    if (code == 0)
        code = corpus_input_read(arguments[1], &reading, v->input.skip_bad, &in->findings, &in->corpus);
    if (code == 0 && !v->no_text)
        code = corpus_input_words(common, &v->input, in->lexicon, in->findings, in->corpus);
    if (code == 0 && !v->no_text)
        code = oov_input_find(common, &v->oov, in->model, in->lexicon, in->corpus, in->aligning.unknown_words, NULL);
    return code;
}

int bam_inputs_skipped(const cli_common *common, const bam_inputs *in, size_t skipped, const char *output)
{
    corpus_input_warn(common, in->findings);
    return corpus_input_skipped(in->findings, skipped, output);
}

void bam_inputs_free(bam_inputs *in)
{
    trl_corpus_destroy(in->corpus);
    trl_findings_destroy(in->findings);
    trl_lexicon_destroy(in->lexicon);
    trl_model_destroy(in->model);
    trl_pool_destroy(in->pool);
}
