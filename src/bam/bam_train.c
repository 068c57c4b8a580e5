/* The driver on one machine: the mapper's records are sorted in memory and written as runs; the keys of all runs are cut into ranges (key_ranges.h); each range is merged and reduced; and the results are joined
 * in the store. A run or a range is a file that is there whole or not at all: what is there after a kill is not done again.
 */
#include "bam/key_ranges.h"
#include "bam/mapper.h"
#include "bam/record_merge.h"
#include "bam/record_sort.h"
#include "bam/reducer.h"
#include "bam/store_format.h"
#include "bam/work_folder.h"
#include "corpus/utterance_hash.h"
#include "base/fail.h"
#include "base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/bam_store.h>
#include <unistd.h>
#include <xxhash.h>

/* What the tags of a run are: which job, up to which utterance; then what came since the run before. */
enum { JOB, END, UTTERANCES, FRAMES, RECORDS, BYTES };

typedef struct train_job {
    const trl_bam_train_options *options;
    const trl_corpus *corpus;
    const char *store;
    trl__bam_header header;
    size_t key_size, mark_size;
    uint64_t hash; /* of everything that the runs depend on */
    trl__work work;
    trl_pool *pool;

    /* mapping */
    trl_findings *kept, *found; /* of all starts, and of this one … */
    size_t gathered;            /* … of which so many are with the others */
    trl__sorter *sorter;
    uint64_t tags[TRL__RUN_TAGS];
    long mapped; /* utterances before this one are in runs */

    trl__sorted_run **runs;
    size_t run_count, run_capacity;

    trl__key_range *ranges; /* the largest first */
    trl_progress *reducing;
    size_t range_count;
    trl_bam_train_summary *summary;
} train_job;

trl_bam_train_options trl_bam_train_defaults(void)
{
    return (trl_bam_train_options){.bam = trl_bam_defaults(),
                                   .aligning = trl_align_defaults(),
                                   .shards = 16,
                                   .partitions = 1,
                                   .memory = (size_t)256 << 20};
}

/* ---- which job ---- */

/* Model, words and their pronunciations, utterances, and the options that records depend on; not the number of threads. */
static uint64_t hash_job(const train_job *j, const trl_lexicon *lexicon)
{
    const trl_bam_train_options *o = j->options;
    const trl_align_options *a = &o->aligning;
    uint64_t numbers[] = {j->header.model,       (uint64_t)j->header.order,  (uint64_t)o->bam.word_boundaries,
                          j->header.seed,        (uint64_t)a->unknown_words, (uint64_t)a->channel,
                          (uint64_t)a->skip_bad, (uint64_t)a->adapt,         (uint64_t)(a->beam * 1000)};
    uint64_t h = XXH3_64bits(numbers, sizeof numbers);
    h = trl__hash_text(h, a->only);
    return trl__hash_corpus(trl__hash_lexicon(h, lexicon), j->corpus);
}

/* Ranges depend on the estimation too, and what is made of them on the format that it is written in. */
static uint64_t hash_ranges(const train_job *j)
{
    const trl_bam_options *o = &j->options->bam;
    double numbers[] = {TRL__BAM_STREAM_VERSION,
                        (double)o->least_frames,
                        (double)o->most_frames,
                        o->alpha,
                        o->beta,
                        o->variance_floor,
                        (double)o->iterations,
                        j->options->shards,
                        (double)j->options->memory};
    return XXH3_64bits_withSeed(numbers, sizeof numbers, j->hash);
}

/* ---- mapping ---- */

static int put_file(void *user, const void *bytes, size_t size, trl_error *err)
{
    return trl_file_write(user, bytes, size, err);
}

static int open_run(train_job *j, size_t number, trl_error *err)
{
    char *name = trl__work_name(&j->work, "run", number);
    if (!name || TRL_GROW(j->runs, j->run_capacity, j->run_count + 1) < 0)
        return trl__fail_memory(err);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return trl__fail_errno(err, name, "can't open");
    int code = trl__run_open(fd, name, j->mark_size, &j->runs[j->run_count], err);
    j->run_count += code == 0;
    return code;
}

static int is_kept(const train_job *j, const trl_finding *f)
{
    const trl_finding *k;
    for (size_t i = 0; (k = trl_findings_get(j->kept, i)); i++)
        if (k->kind == f->kind && k->line == f->line && strcmp(k->message, f->message) == 0 &&
            strcmp(k->utterance ? k->utterance : "", f->utterance ? f->utterance : "") == 0)
            return 1;
    return 0;
}

/* What was found goes to what is kept, and to the disk before the run that passes over these utterances from now on. Some of it may have been found
 * by an earlier start as well. */
static int keep_findings(train_job *j, trl_error *err)
{
    const trl_finding *f;
    size_t before = j->gathered;
    for (int code; (f = trl_findings_get(j->found, j->gathered)); j->gathered++) {
        code = is_kept(j, f)
                   ? 0
                   : trl_findings_add(j->kept, f->kind, f->file, f->line, f->utterance, err, "%s", f->message);
        if (code < 0)
            return code;
    }
    return j->gathered > before ? trl__work_keep(&j->work, j->hash, j->kept, err) : 0;
}

/* What is in memory becomes a run, which says up to which utterance the corpus is done. */
static int write_run(train_job *j, trl_error *err)
{
    char *name = trl__work_name(&j->work, "run", j->run_count);
    trl_file *file;
    trl__run_writer *writer;
    int code = name ? keep_findings(j, err) : trl__fail_memory(err);
    if (code < 0 || (code = trl_file_create(name, &file, err)) < 0)
        return code;
    j->tags[JOB] = j->hash;
    code = trl__run_writer_open(put_file, file, j->mark_size, j->tags, &writer, err);
    if (code == 0) {
        code = trl__sorter_write(j->sorter, writer, err);
        if (code == 0)
            code = trl__run_writer_close(writer, err);
        else
            trl__run_writer_abort(writer);
    }
    if (code == 0)
        code = trl_file_commit(file, err);
    else
        trl_file_abort(file);
    if (code < 0)
        return code;
    trl__sorter_empty(j->sorter);
    j->tags[UTTERANCES] = j->tags[FRAMES] = j->tags[RECORDS] = j->tags[BYTES] = 0;
    return open_run(j, j->run_count, err);
}

/* Memory is full within an utterance: the run has its first part, and counts as done up to the one before. If that is all there will be, the utterance is mapped
 * again, and what comes twice counts once. */
static int map_record(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    train_job *j = user;
    int code = trl__sorter_add(j->sorter, body, size, err);
    if (code == 1 && (code = write_run(j, err)) == 0)
        code = trl__sorter_add(j->sorter, body, size, err);
    j->tags[RECORDS]++;
    j->tags[BYTES] += size;
    return code;
}

static int end_utterance(void *user, const trl_alignment *alignment, trl_error *err)
{
    train_job *j = user;
    (void)err;
    j->tags[END] = (uint64_t)trl_corpus_find(j->corpus, alignment->utterance->id) + 1;
    j->tags[UTTERANCES]++;
    j->tags[FRAMES] += (uint64_t)alignment->frames;
    return 0;
}

static int is_mapped(void *user, const trl_utterance *utterance)
{
    const train_job *j = user;
    return j->mapped > 0 && trl_corpus_find(j->corpus, utterance->id) < j->mapped;
}

/* Runs that an earlier start left, as far as they belong to this job. */
static void find_runs(train_job *j)
{
    trl_error err;
    while (open_run(j, j->run_count, &err) == 0) {
        const trl__sorted_run *run = j->runs[j->run_count - 1];
        if (run->tags[JOB] != j->hash) {
            trl__run_close(j->runs[--j->run_count]);
            break;
        }
        j->mapped = (long)run->tags[END];
        j->tags[END] = run->tags[END];
        j->summary->resumed += run->tags[UTTERANCES];
    }
    if (j->run_count == 0)
        (void)trl__work_remove(&j->work, 0, NULL); /* what stays is written anew */
}

/* A file that says: all is mapped. */
static int is_complete(train_job *j)
{
    uint64_t hash = 0;
    char *name = trl__work_name(&j->work, "mapped", j->run_count);
    FILE *file = name ? fopen(name, "rb") : NULL;
    int complete = file && fread(&hash, sizeof hash, 1, file) == 1 && hash == j->hash;
    if (file)
        fclose(file);
    return complete;
}

static int mark_complete(train_job *j, trl_error *err)
{
    trl_file *file;
    char *name = trl__work_name(&j->work, "mapped", j->run_count);
    int code = name ? keep_findings(j, err) : trl__fail_memory(err);
    if (code < 0 || (code = trl_file_create(name, &file, err)) < 0)
        return code;
    code = trl_file_write(file, &j->hash, sizeof j->hash, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

static int map_rest(train_job *j, const trl_model *model, const trl_lexicon *lexicon, trl_error *err)
{
    const trl__map_target target = {
        .emit = map_record, .next_utterance = end_utterance, .passes_over = is_mapped, .user = j};
    int code = trl__sorter_create(j->key_size, j->options->memory, &j->sorter, err);
    if (code == 0)
        code = trl__map_corpus(model, lexicon, j->corpus, &j->header, &j->options->aligning, j->pool, j->found, &target,
                               &j->summary->aligned, err);
    if (code == 0 && (trl__sorter_count(j->sorter) > 0 || j->run_count == 0))
        code = write_run(j, err);
    trl__sorter_destroy(j->sorter);
    j->sorter = NULL;
    return code < 0 ? code : mark_complete(j, err);
}

static int map_all(train_job *j, const trl_model *model, const trl_lexicon *lexicon, trl_findings *skipped,
                   trl_error *err)
{
    const trl_finding *f;
    find_runs(j);
    int code = trl_findings_create(&j->kept, err);
    if (code == 0)
        code = trl_findings_create(&j->found, err);
    if (code == 0)
        code = trl__work_recall(&j->work, j->hash, j->kept, err);
    if (code == 0 && (j->run_count == 0 || !is_complete(j)))
        code = map_rest(j, model, lexicon, err);
    for (size_t i = 0; code == 0 && (f = trl_findings_get(j->kept, i)); i++)
        code = trl_findings_add(skipped, f->kind, f->file, f->line, f->utterance, err, "%s", f->message);
    trl_findings_destroy(j->kept);
    trl_findings_destroy(j->found);
    return code;
}

/* ---- ranges ---- */

static int make_ranges(train_job *j, trl_error *err)
{
    int code = trl__key_ranges(j->runs, j->run_count, (size_t)j->options->shards, &j->ranges, &j->range_count, err);
    if (code < 0)
        return code;
    for (size_t r = 0; r < j->run_count; r++) {
        const trl__sorted_run *run = j->runs[r];
        for (size_t b = 0; b < run->count; b++)
            j->summary->packed += run->blocks[b].packed;
        j->summary->counts.utterances += run->tags[UTTERANCES];
        j->summary->counts.frames += run->tags[FRAMES];
        j->summary->counts.records += run->tags[RECORDS];
        j->summary->counts.bytes += run->tags[BYTES];
    }
    j->summary->runs = j->run_count;
    j->summary->shards = j->range_count;
    j->summary->largest = j->ranges[0].bytes;
    j->summary->smallest = j->ranges[j->range_count - 1].bytes;
    return 0;
}

/* ---- reducing ---- */

static int write_record(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    return trl__bam_write(user, body, size, err);
}

/* The progress of a range: at most what it was said to have, and in the end that. Its records may be a little more or less than the blocks it was cut from. */
static int reduce_merged(const train_job *j, const trl__key_range *r, trl__merge *merge, trl__reducer *reducer,
                         trl_error *err)
{
    trl__bam_record record;
    int code;
    uint64_t bytes = 0, left = r->bytes;
    while ((code = trl__merge_next(merge, &record, err)) > 0) {
        code = trl__reducer_add(reducer, &record, err);
        if (code < 0)
            return code;
        bytes += record.size;
        if (bytes > 1 << 20 && bytes <= left) {
            trl_progress_add(j->reducing, bytes);
            left -= bytes;
            bytes = 0;
        }
    }
    trl_progress_add(j->reducing, code < 0 ? 0 : left);
    return code;
}

static int reduce_to(const train_job *j, const trl__key_range *r, trl__bam_writer *writer, trl_error *err)
{
    trl__run_cursor **cursors = trl__alloc_zero(j->run_count, sizeof(trl__run_cursor *));
    trl__reducer *reducer = NULL;
    trl__merge *merge = NULL;
    int code = cursors ? trl__merge_open(j->run_count, &merge, err) : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < j->run_count; i++) {
        code = trl__run_cursor_open(j->runs[i], &j->header, r->first, r->end, &cursors[i], err);
        if (code == 0)
            code = trl__merge_add(merge, trl__run_next, cursors[i], err);
    }
    if (code == 0)
        code =
            trl__reducer_create(&j->header, &j->options->bam, j->pool, r->first, write_record, writer, &reducer, err);
    if (code == 0)
        code = reduce_merged(j, r, merge, reducer, err);
    if (code == 0)
        code = trl__reducer_finish(reducer, r->end, err);
    trl__reducer_destroy(reducer);
    trl__merge_close(merge);
    for (size_t i = 0; cursors && i < j->run_count; i++)
        trl__run_cursor_close(cursors[i]);
    trl__free(cursors);
    return code;
}

static void part_name(const train_job *j, const trl__key_range *r, char *out, size_t size)
{
    snprintf(out, size, "%s/part-%016" PRIx64 "-%06zu", j->work.folder, hash_ranges(j), r->number);
}

static int reduce_range(void *user, size_t index, int worker, trl_error *err)
{
    const train_job *j = user;
    const trl__key_range *r = &j->ranges[index];
    char name[4096];
    trl__bam_writer writer;
    (void)worker;
    part_name(j, r, name, sizeof name);
    if (access(name, R_OK) == 0) {
        trl_progress_add(j->reducing, r->bytes);
        return 0;
    }
    int code = trl__bam_writer_open(name, &j->header, &writer, err);
    if (code < 0)
        return code;
    code = reduce_to(j, r, &writer, err);
    if (code == 0)
        return trl__bam_writer_commit(&writer, err);
    trl__bam_writer_abort(&writer);
    return code;
}

static int write_store(train_job *j, trl_error *err)
{
    char **names = trl__alloc_zero(j->range_count, sizeof(char *));
    int code = names ? 0 : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < j->range_count; i++) {
        char name[4096];
        part_name(j, &j->ranges[i], name, sizeof name);
        names[i] = trl__strdup(name);
        if (!names[i])
            code = trl__fail_memory(err);
    }
    trl_bam_counts counts;
    if (code == 0)
        code = trl_bam_store_write((const char *const *)names, j->range_count, &j->options->bam, j->options->partitions,
                                   j->pool, j->store, &counts, err);
    if (code == 0)
        memcpy(j->summary->counts.cell, counts.cell, sizeof counts.cell);
    for (size_t i = 0; names && i < j->range_count; i++)
        trl__free(names[i]);
    trl__free(names);
    return code;
}

static uint64_t total_bytes(const train_job *j)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < j->range_count; i++)
        bytes += j->ranges[i].bytes;
    return bytes;
}

static void count_done(train_job *j)
{
    for (size_t i = 0; i < j->range_count; i++) {
        char name[4096];
        part_name(j, &j->ranges[i], name, sizeof name);
        j->summary->reduced_before += access(name, R_OK) == 0;
    }
}

/* ---- all ---- */

static int set_up(train_job *j, const trl_model *model, const trl_lexicon *lexicon, trl_error *err)
{
    size_t length = strlen(j->store);
    if (j->options->shards < 1 || j->options->shards > TRL_BAM_SHARDS_MOST)
        return trl__fail(err, TRL_EINVAL, "%d shards; there may be 1 to %d", j->options->shards, TRL_BAM_SHARDS_MOST);
    if (length == 0 || length > 3000)
        return trl__fail(err, TRL_EINVAL, "the name of the store has %zu bytes; 1 to 3000 will do", length);
    int code = trl__store_check_place(j->store, j->options->partitions, err);
    if (code == 0)
        code = trl__map_header(model, &j->options->bam, &j->header, err);
    if (code < 0)
        return code;
    j->key_size = trl_bam_key_size(j->header.order);
    j->mark_size = trl__run_mark_size(j->header.order);
    j->hash = hash_job(j, lexicon);
    return trl__work_open(j->store, &j->work, err);
}

int trl_bam_train(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                  const trl_bam_train_options *options, trl_pool *pool, trl_findings *skipped, const char *store,
                  trl_bam_train_summary *summary, trl_error *err)
{
    trl_bam_train_summary own;
    train_job j = {
        .options = options, .corpus = corpus, .store = store, .pool = pool, .summary = summary ? summary : &own};
    j.work.lock = -1;
    *j.summary = (trl_bam_train_summary){0};
    int code = set_up(&j, model, lexicon, err);
    if (code == 0)
        code = map_all(&j, model, lexicon, skipped, err);
    if (code == 0)
        code = make_ranges(&j, err);
    if (code == 0) {
        count_done(&j);
        if (options->begin_reducing)
            j.reducing = options->begin_reducing(options->user, total_bytes(&j));
        code = trl_pool_for(pool, j.range_count, reduce_range, &j, err);
    }
    if (code == 0)
        code = write_store(&j, err);
    for (size_t i = 0; i < j.run_count; i++)
        trl__run_close(j.runs[i]);
    if (code == 0)
        code = trl__work_remove(&j.work, 1, err);
    trl__free(j.runs);
    trl__free(j.ranges);
    trl_bam_phones_destroy(j.header.phones);
    trl__work_close(&j.work);
    return code;
}
