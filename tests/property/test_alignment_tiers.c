/* Laws of alignment files over random recordings: a TextGrid read back has every word and phone at its time, on tiers without gaps or
 * overlaps; subtitles come in order; the order in which utterances are added does not matter. */
#include "alignment_fixture.h"
#include "base/random.h"
#include "corpus/textgrid.h"

#include <math.h>

#define UTTERANCES 12

static trl_error err;
static made_alignment made[UTTERANCES];
static char labels[UTTERANCES][FIXTURE_MOST][16], ids[UTTERANCES][16];
static uint64_t drawn; /* random numbers so far */

static uint32_t below(uint32_t limit)
{
    return trl__random_bits(11, 0, drawn++) % limit;
}

/* Up to twelve utterances of two files and two speakers, at random times: some overlap, some touch. */
static size_t make_recordings(void)
{
    static const char *const pieces[] = {"a", "\"", "ß", "\\", "<", "]", "=", "1", "!", "-"};
    size_t count = 1 + below(UTTERANCES);
    for (size_t u = 0; u < count; u++) {
        made_phone p[32] = {{NULL, NULL, 0, 0}};
        double at = 0;
        for (uint32_t i = 0, phones = 1 + below(20); i < phones; i++) {
            snprintf(labels[u][i], sizeof labels[u][i], "%s%s%u", pieces[below(10)], pieces[below(10)], below(100));
            at = (lround(at * 100) + 2 + 2 * (long)below(20)) / 100.0;
            p[i] = (made_phone){i == 0 || below(2) ? (below(4) ? labels[u][i] : "") : NULL, labels[u][i], at, 1};
        }
        snprintf(ids[u], sizeof ids[u], "u%02zu", u);
        make_alignment(&made[u], ids[u], below(3) ? "x/one.wav" : "x/two.wav", p);
        make_part(&made[u], below(2) ? "anna" : "ben", below(1000) / 100.0);
    }
    return count;
}

static void write_files(size_t count, int backwards)
{
    trl_alignment_writer *writer;
    assert_int_equal(trl_alignment_writer_open(temp_folder, "textgrid,vtt", NULL, &writer, &err), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(trl_alignment_writer_add(writer, &made[backwards ? count - 1 - i : i].alignment, &err), 0);
    assert_int_equal(trl_alignment_writer_commit(writer, &err), 0);
}

/* From 0 to the end without a gap. Returns how many intervals have text. */
static size_t check_tier(const trl__tier *tier, double end)
{
    double at = 0;
    size_t with_text = 0;
    for (size_t i = 0; i < tier->count; i++) {
        assert_true(tier->intervals[i].start == at && tier->intervals[i].end > at);
        at = tier->intervals[i].end;
        with_text += tier->intervals[i].text[0] != '\0';
    }
    assert_true(fabs(at - end) < 1e-6);
    return with_text;
}

/* Is the segment on a tier of its level, and of its speaker where the name says one? */
static int is_on_a_tier(const trl__textgrid *grid, const made_alignment *m, const trl_segment *s, const char *level)
{
    for (size_t t = 0; t < grid->count; t++) {
        const char *name = grid->tiers[t].name, *dash = strstr(name, " - ");
        size_t speaker = strlen(m->utterance.speaker);
        if (strcmp(dash ? dash + 3 : name, level) != 0 || (dash && strncmp(name, m->utterance.speaker, speaker) != 0))
            continue;
        for (size_t i = 0; i < grid->tiers[t].count; i++) {
            const trl__interval *v = &grid->tiers[t].intervals[i];
            if (fabs(v->start - m->utterance.start - s->start) < 0.0011 &&
                fabs(v->end - m->utterance.start - s->stop) < 0.0011 && strcmp(v->text, s->label) == 0)
                return 1;
        }
    }
    return 0;
}

static void check_grid(const char *file, const char *path, size_t count)
{
    size_t segments = 0, with_text = 0;
    double end = 0;
    for (size_t u = 0; u < count; u++)
        if (strcmp(made[u].utterance.path, path) == 0)
            end = fmax(end, made[u].utterance.start + made[u].alignment.seconds);
    if (end == 0)
        return;
    trl__text text;
    trl__textgrid grid;
    int64_t line;
    assert_int_equal(trl__text_read(temp_path(file), &text, &err), 0);
    if (trl__textgrid_parse(&text, &grid, &line, &err) < 0)
        fail_msg("line %d: %s", (int)line, err.text);
    for (size_t t = 0; t < grid.count; t++)
        with_text += check_tier(&grid.tiers[t], end);
    for (size_t u = 0; u < count; u++) {
        const trl_alignment *a = &made[u].alignment;
        if (strcmp(made[u].utterance.path, path) != 0)
            continue;
        for (size_t i = 0; i < a->words.count; i++) {
            segments += a->words.items[i].label[0] != '\0';
            assert_true(is_on_a_tier(&grid, &made[u], &a->words.items[i], "words"));
        }
        for (size_t i = 0; i < a->phones.count; i++, segments++)
            assert_true(is_on_a_tier(&grid, &made[u], &a->phones.items[i], "phones"));
    }
    assert_int_equal(with_text, segments);
    trl__textgrid_free(&grid);
    trl__text_free(&text);
}

static long clock_ms(const char *text)
{
    static const int units[] = {36000000, 3600000, -1, 600000, 60000, -1,
                                10000,    1000,    -1, 100,    10,    1}; /* hh:mm:ss.mmm */
    long ms = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        assert_true(units[i] < 0 ? text[i] == ':' || text[i] == '.' : text[i] >= '0' && text[i] <= '9');
        ms += units[i] < 0 ? 0 : (text[i] - '0') * (long)units[i];
    }
    return ms;
}

/* Cues rise, none is empty, each has one line of text and an empty line behind it. */
static void check_subtitles(const char *file)
{
    FILE *in = fopen(temp_path(file), "r");
    char line[2000];
    long last = 0;
    if (!in)
        return;
    assert_non_null(fgets(line, sizeof line, in));
    assert_string_equal(line, "WEBVTT\n");
    assert_non_null(fgets(line, sizeof line, in));
    assert_string_equal(line, "\n");
    while (fgets(line, sizeof line, in)) {
        long start = clock_ms(line), end = clock_ms(line + 17);
        assert_memory_equal(line + 12, " --> ", 5);
        assert_string_equal(line + 29, "\n");
        assert_true(start >= last && end > start);
        last = start;
        assert_non_null(fgets(line, sizeof line, in));
        assert_true(strlen(line) > 1);
        assert_null(strstr(line, "-->"));
        assert_non_null(fgets(line, sizeof line, in));
        assert_string_equal(line, "\n");
    }
    fclose(in);
}

static size_t load_file(const char *name, char **bytes)
{
    FILE *in = fopen(temp_path(name), "rb");
    *bytes = calloc(1, 1 << 20);
    size_t size = in ? fread(*bytes, 1, 1 << 20, in) : 0;
    if (in)
        fclose(in);
    return size;
}

static void files_tell_what_was_aligned(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        size_t count = make_recordings();
        write_files(count, 0);
        check_grid("one.TextGrid", "x/one.wav", count);
        check_grid("two.TextGrid", "x/two.wav", count);
        check_subtitles("one.vtt");
        check_subtitles("two.vtt");
        char *forwards, *backwards;
        size_t size = load_file("one.TextGrid", &forwards);
        write_files(count, 1);
        assert_int_equal(load_file("one.TextGrid", &backwards), size);
        assert_memory_equal(forwards, backwards, size + 1);
        free(forwards);
        free(backwards);
        temp_entries(1);
    }
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0) /* in memory: hundreds of files are put in place */
        setenv("TMPDIR", "/dev/shm", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_tell_what_was_aligned, temp_folder_make, temp_folder_remove)};
    return RUN(tests);
}
