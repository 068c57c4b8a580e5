#include "lattice_command.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <trellis/graph.h>
#include <unistd.h>

int lattice_scale(const cli_command *command, const lattice_values *v, trl_lattice_scale *scale)
{
    if (!(v->lm_scale > 0 && isfinite(v->lm_scale)))
        return cli_usage_error(command, "--lm-scale takes a number above 0");
    if (!isfinite(v->word_penalty))
        return cli_usage_error(command, "--word-penalty takes a number");
    *scale = (trl_lattice_scale){1 / v->lm_scale, 1, v->word_penalty};
    return 0;
}

static int words_of_graph(const char *path, trl_symbols **words, trl_error *err)
{
    trl_graph *graph;
    int code = trl_graph_read(path, &graph, err);
    if (code < 0)
        return code;
    *words = trl_symbols_share((trl_symbols *)(uintptr_t)trl_graph_words(graph));
    trl_graph_destroy(graph);
    return *words ? 0 : cli_error(err, TRL_EINVAL, "%s: the graph has no table of words", path);
}

int lattice_words_are_graph(const lattice_values *v)
{
    size_t length = v->words ? strlen(v->words) : 0;
    return length > 4 && strcmp(v->words + length - 4, ".trg") == 0;
}

int lattice_words(const lattice_values *v, trl_symbols **words, trl_error *err)
{
    *words = NULL;
    if (!v->words)
        return 0;
    if (lattice_words_are_graph(v))
        return words_of_graph(v->words, words, err);
    return trl_symbols_read(v->words, words, err);
}

static int read_archive(const char *place, trl_symbols *words, lattice_fn use, void *user, trl_error *err)
{
    trl_lattice_reader *reader;
    const char *id;
    int found, code = trl_lattice_reader_open(place, words, &reader, err);
    if (code < 0)
        return code;
    do {
        trl_lattice *lattice;
        found = trl_lattice_reader_next(reader, &id, &lattice, err);
        code = found > 0 ? cli_error_in(err, use(user, id, lattice, err), place) : found;
        trl_lattice_destroy(lattice);
    } while (found > 0 && code == 0);
    trl_lattice_reader_close(reader);
    return code;
}

int lattice_each(char **places, int count, trl_symbols *words, lattice_fn use, void *user, trl_error *err)
{
    int code = 0;
    for (int i = 0; code == 0 && i < count; i++)
        code = read_archive(places[i], words, use, user, err);
    return code;
}

int lattice_open_output(const cli_command *command, const lattice_values *v, const trl_lattice_scale *scale,
                        trl_lattice_writer **writer)
{
    trl_error err;
    const char *place = v->output ? v->output : "-";
    int binary = strcmp(place, "-") == 0 || strcmp(place, "ark:-") == 0 || strcmp(place, "lattice:-") == 0;
    if (binary && isatty(STDOUT_FILENO))
        return cli_usage_error(command, "the result is binary, and this is a terminal; -o FILE says where it goes, -o "
                                        "ark,t:- makes text");
    return trl_lattice_writer_open(place, scale, writer, &err) < 0 ? cli_failure(&err) : 0;
}
