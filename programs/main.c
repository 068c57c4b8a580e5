/* trellis: one binary, its commands from a table. */
#include "cli.h"
#include "cli_json.h"
#include "large_blocks.h"
#include "resume.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

extern const cli_command cmd_align, cmd_corpus_check, cmd_corpus_split, cmd_decode, cmd_devices, cmd_features,
    cmd_features_copy, cmd_features_show, cmd_graph, cmd_help, cmd_lattice_copy, cmd_lattice_info, cmd_lattice_nbest,
    cmd_lattice_oracle, cmd_lattice_rescore, cmd_lattice_words, cmd_lm, cmd_lm_perplexity, cmd_model_convert,
    cmd_model_draw, cmd_model_likelihoods, cmd_model_show, cmd_model_stat, cmd_report, cmd_score, cmd_train,
    cmd_version;
extern const cli_command cmd_bam_eval, cmd_bam_export, cmd_bam_get, cmd_bam_info, cmd_bam_load, cmd_bam_map,
    cmd_bam_reduce, cmd_bam_rescore, cmd_bam_show, cmd_bam_sizes, cmd_bam_sort, cmd_bam_store, cmd_bam_train,
    cmd_bam_tune;
extern const cli_command cmd_fst_backward, cmd_fst_counts, cmd_fst_forward, cmd_fst_index, cmd_fst_train,
    cmd_fst_viterbi;
extern const cli_command cmd_fst_arcsort, cmd_fst_arpa, cmd_fst_closure, cmd_fst_compile, cmd_fst_compose,
    cmd_fst_concat, cmd_fst_connect, cmd_fst_convert, cmd_fst_decode, cmd_fst_determinize, cmd_fst_difference,
    cmd_fst_disambiguate, cmd_fst_draw, cmd_fst_encode, cmd_fst_epsnormalize, cmd_fst_equal, cmd_fst_equivalent,
    cmd_fst_info, cmd_fst_intersect, cmd_fst_invert, cmd_fst_isomorphic, cmd_fst_map, cmd_fst_minimize, cmd_fst_print,
    cmd_fst_project, cmd_fst_prune, cmd_fst_push, cmd_fst_randequivalent, cmd_fst_randgen, cmd_fst_relabel,
    cmd_fst_replace, cmd_fst_reverse, cmd_fst_reweight, cmd_fst_rmepsilon, cmd_fst_shortestdistance,
    cmd_fst_shortestpath, cmd_fst_symbols, cmd_fst_synchronize, cmd_fst_topsort, cmd_fst_union_;

const cli_command *const cli_commands[] = {
    &cmd_align,
    &cmd_bam_eval,
    &cmd_bam_export,
    &cmd_bam_get,
    &cmd_bam_info,
    &cmd_bam_load,
    &cmd_bam_map,
    &cmd_bam_reduce,
    &cmd_bam_rescore,
    &cmd_bam_show,
    &cmd_bam_sizes,
    &cmd_bam_sort,
    &cmd_bam_store,
    &cmd_bam_train,
    &cmd_bam_tune,
    &cmd_corpus_check,
    &cmd_corpus_split,
    &cmd_decode,
    &cmd_devices,
    &cmd_features,
    &cmd_features_copy,
    &cmd_features_show,
    &cmd_fst_arcsort,
    &cmd_fst_arpa,
    &cmd_fst_backward,
    &cmd_fst_closure,
    &cmd_fst_compile,
    &cmd_fst_compose,
    &cmd_fst_concat,
    &cmd_fst_connect,
    &cmd_fst_convert,
    &cmd_fst_counts,
    &cmd_fst_decode,
    &cmd_fst_determinize,
    &cmd_fst_difference,
    &cmd_fst_disambiguate,
    &cmd_fst_draw,
    &cmd_fst_encode,
    &cmd_fst_epsnormalize,
    &cmd_fst_equal,
    &cmd_fst_equivalent,
    &cmd_fst_forward,
    &cmd_fst_index,
    &cmd_fst_info,
    &cmd_fst_intersect,
    &cmd_fst_invert,
    &cmd_fst_isomorphic,
    &cmd_fst_map,
    &cmd_fst_minimize,
    &cmd_fst_print,
    &cmd_fst_project,
    &cmd_fst_prune,
    &cmd_fst_push,
    &cmd_fst_randequivalent,
    &cmd_fst_randgen,
    &cmd_fst_relabel,
    &cmd_fst_replace,
    &cmd_fst_reverse,
    &cmd_fst_reweight,
    &cmd_fst_rmepsilon,
    &cmd_fst_shortestdistance,
    &cmd_fst_shortestpath,
    &cmd_fst_symbols,
    &cmd_fst_synchronize,
    &cmd_fst_topsort,
    &cmd_fst_train,
    &cmd_fst_union_,
    &cmd_fst_viterbi,
    &cmd_graph,
    &cmd_help,
    &cmd_lattice_copy,
    &cmd_lattice_info,
    &cmd_lattice_nbest,
    &cmd_lattice_oracle,
    &cmd_lattice_rescore,
    &cmd_lattice_words,
    &cmd_lm,
    &cmd_lm_perplexity,
    &cmd_model_convert,
    &cmd_model_draw,
    &cmd_model_likelihoods,
    &cmd_model_show,
    &cmd_model_stat,
    &cmd_report,
    &cmd_score,
    &cmd_train,
    &cmd_version,
    NULL,
};

/* Started with a closed stream, its number must not go to a file we write. Using the stream then fails as it should. */
static void occupy_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    occupy_streams();
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files becomes a write that fails, and says so */
    return_large_blocks();
    cli_json_begin();
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = "help";
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    int used;
    const cli_command *command = cli_find(argc - 1, argv + 1, &used);
    resume_remember(argc, argv);
    if (command)
        return cli_run(command, argc - 1 - used, argv + 1 + used);
    return cli_unknown_command(argc - 1, argv + 1);
}
