/* trellis lattice oracle: how good could the words of lattices be? */
#include "lattice_command.h"
#include "score_output.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/file.h>
#include <trellis/lattice_oracle.h>

extern const cli_command cmd_lattice_oracle;

struct values {
    lattice_values shared;
    const char *utt2spk, *letters;
};

typedef struct reference {
    trl_transcript said;
    int found; /* a lattice */
    size_t speaker;
} reference;

typedef struct job {
    const struct values *values;
    trl_symbols *words;
    int letters;
    trl_oracle_words *same; /* which of them are the same */
    trl_transcripts *said;
    reference *references; /* by id */
    size_t count;
    trl_scored_speaker *speakers; /* those that the references name */
    size_t speaker_count;
    trl_counts all;
    size_t extras;
    trl_file *file;  /* the best paths' words; NULL: not wanted */
    int32_t *labels; /* room for the longest reference */
} job;

/* ---- The references ---- */

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const reference *)a)->said.id, ((const reference *)b)->said.id);
}

/* Speakers are in the order of their first utterance. */
static void name_speaker(job *j, reference *r)
{
    const char *name = r->said.speaker;
    for (r->speaker = 0; r->speaker < j->speaker_count; r->speaker++) {
        const char *other = j->speakers[r->speaker].name;
        if (name && other && strcmp(other, name) == 0)
            return;
    }
    if (name)
        j->speakers[j->speaker_count++] = (trl_scored_speaker){.name = name};
}

static int check_references(const job *j, const char *path, size_t *longest, trl_error *err)
{
    for (size_t i = 0; i < trl_transcripts_count(j->said); i++) {
        trl_transcript t = trl_transcripts_get(j->said, i);
        *longest = t.count > *longest ? t.count : *longest;
        for (size_t k = 0; k < t.count; k++)
            if (strcmp(t.words[k], "{") == 0)
                return cli_error(err, TRL_EUNSUPPORTED,
                                 "%s: utterance %s has alternatives; a reference for lattices can't", path, t.id);
    }
    return 0;
}

/* Those that are to be scored, in their order. */
static int list_references(job *j, const char *path, trl_error *err)
{
    size_t count = trl_transcripts_count(j->said), longest = 1;
    int code = check_references(j, path, &longest, err);
    if (code < 0)
        return code;
    j->references = calloc(count + 1, sizeof *j->references);
    j->speakers = calloc(count + 1, sizeof *j->speakers);
    j->labels = malloc(longest * sizeof *j->labels);
    if (!j->references || !j->speakers || !j->labels)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        reference *r = &j->references[j->count];
        r->said = trl_transcripts_get(j->said, i);
        if (!r->said.id)
            continue;
        name_speaker(j, r);
        j->count++;
    }
    return 0;
}

static int sort_references(job *j, const char *path, trl_error *err)
{
    int code = list_references(j, path, err);
    if (code < 0)
        return code;
    qsort(j->references, j->count, sizeof *j->references, compare_ids);
    for (size_t i = 1; i < j->count; i++)
        if (compare_ids(&j->references[i - 1], &j->references[i]) == 0)
            return cli_error(err, TRL_EFORMAT, "%s: utterance %s comes twice", path, j->references[i].said.id);
    return 0;
}

static int prepare(job *j, const char *path, trl_error *err)
{
    const struct values *v = j->values;
    int code = lattice_words(&v->shared, &j->words, err);
    if (code == 0)
        code = trl_oracle_words_create(j->words, j->letters, &j->same, err);
    if (code == 0)
        code = trl_transcripts_read(path, TRL_TRANSCRIPTS_ANY, &j->said, err);
    if (code == 0 && v->utt2spk)
        code = trl_transcripts_speakers(j->said, v->utt2spk, err);
    if (code == 0)
        code = sort_references(j, path, err);
    if (code == 0 && v->shared.output)
        code = trl_file_create(v->shared.output, &j->file, err);
    return code;
}

/* ---- The lattices ---- */

static void add_counts(trl_counts *sum, const trl_counts *c)
{
    sum->words += c->words;
    sum->correct += c->correct;
    sum->substitutions += c->substitutions;
    sum->deletions += c->deletions;
    sum->insertions += c->insertions;
    sum->utterances += c->utterances;
    sum->wrong += c->wrong;
}

static void count(job *j, const reference *r, const trl_counts *counts)
{
    add_counts(&j->all, counts);
    if (r->said.speaker)
        add_counts(&j->speakers[r->speaker].counts, counts);
}

static int write_path(const job *j, const char *id, const trl_oracle_path *path, trl_error *err)
{
    int code = trl_file_print(j->file, err, "%s", id);
    for (size_t i = 0; code == 0 && i < path->count; i++) {
        const char *name = trl_symbols_name(j->words, path->words[i]);
        code = name ? trl_file_print(j->file, err, " %s", name)
                    : cli_error(err, TRL_EINVAL, "%s: word %d of utterance %s has no name in the table",
                                j->values->shared.words, (int)path->words[i], id);
    }
    return code < 0 ? code : trl_file_print(j->file, err, "\n");
}

static int use(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    job *j = user;
    reference key = {.said.id = id};
    reference *r = bsearch(&key, j->references, j->count, sizeof *j->references, compare_ids);
    trl_oracle_path path = {0};
    int code = 0;
    if (!r) {
        j->extras++;
        return 0;
    }
    if (r->found)
        return cli_error(err, TRL_EINVAL, "utterance %s has two lattices", id);
    r->found = 1;
    for (size_t i = 0; code == 0 && i < r->said.count; i++)
        code = trl_oracle_words_find(j->same, r->said.words[i], &j->labels[i], err);
    if (code == 0)
        code = trl_lattice_oracle(lattice, j->same, j->labels, r->said.count, &path, err);
    if (code == 0 && j->file)
        code = write_path(j, id, &path, err);
    if (code == 0)
        count(j, r, &path.counts);
    trl_oracle_path_free(&path);
    return code;
}

/* An utterance without a lattice has all words wrong. */
static size_t count_missing(job *j)
{
    size_t missing = 0;
    for (size_t i = 0; i < j->count; i++) {
        const reference *r = &j->references[i];
        uint64_t words = r->said.count;
        if (r->found)
            continue;
        count(j, r, &(trl_counts){.words = words, .deletions = words, .utterances = 1, .wrong = words > 0});
        missing++;
    }
    return missing;
}

static int work(job *j, int count_arguments, char **arguments)
{
    trl_error err;
    int code = prepare(j, arguments[count_arguments - 1], &err);
    if (code == 0)
        code = lattice_each(arguments, count_arguments - 1, j->words, use, j, &err);
    if (code == 0 && j->file) {
        code = trl_file_commit(j->file, &err);
        j->file = NULL;
    }
    if (code < 0)
        return cli_failure(&err);
    size_t missing = count_missing(j);
    score_print_table(stdout, j->speakers, j->speaker_count, j->all);
    if (missing)
        fprintf(stderr, "trellis: %zu utterances of the reference have no lattice; their words count as deleted\n",
                missing);
    if (j->extras)
        fprintf(stderr, "trellis: %zu lattices are of utterances that the reference does not have\n", j->extras);
    return missing || j->extras ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int run(void *values, int count_arguments, char **arguments)
{
    job j = {.values = values};
    if (!j.values->shared.words)
        return cli_usage_error(&cmd_lattice_oracle, "--words must say which words the labels are");
    int code = cli_choose(&cmd_lattice_oracle, "letters", j.values->letters, score_letters, &j.letters);
    if (code)
        return code;
    code = work(&j, count_arguments, arguments);
    trl_file_abort(j.file);
    free(j.labels);
    free(j.speakers);
    free(j.references);
    trl_transcripts_destroy(j.said);
    trl_oracle_words_destroy(j.same);
    trl_symbols_destroy(j.words);
    return code;
}

static const cli_option options[] = {
    LATTICE_WORDS(struct values, shared),
    {"letters", 0, CLI_TEXT, offsetof(struct values, letters), "NAME",
     "which capitals are the same as small letters: keep (none), ascii (usual), all (Latin, Greek, Cyrillic)"},
    {"utt2spk", 0, CLI_TEXT, offsetof(struct values, utt2spk), "FILE", "lines of utterance and speaker"},
    {"output", 'o', CLI_TEXT, offsetof(struct values, shared.output), "FILE",
     "write the words of the best paths, a line per utterance: its id and its words"},
    {0}};

const cli_command cmd_lattice_oracle = {
    .name = "lattice oracle",
    .synopsis = "LATTICES… REF --words FILE",
    .summary = "finds the least word error rate that lattices allow",
    .description =
        "Of each lattice, the path with the fewest errors counts: whoever chooses words from these lattices can't do "
        "better. Errors are those of plain edit distance; A-Z are a-z (--letters). REF is what was said, in one of "
        "the formats of trellis score, without alternatives. The table is that of trellis score; it has rows for "
        "speakers if REF or --utt2spk names them. " LATTICE_INPUT,
    .options = options,
    .examples = "trellis lattice oracle lat.ark data/test/text --words loop.trg --utt2spk data/test/utt2spk",
    .least = 2,
    .most = INT32_MAX,
    .values_size = sizeof(struct values),
    .run = run,
};
