/* TextGrids: long and short form, UTF-16, quotes, tiers, and every way to be broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "corpus/textgrid.h"

static trl_error err;

static const char long_form[] = "File type = \"ooTextFile\"\n"
                                "Object class = \"TextGrid\"\n"
                                "\n"
                                "xmin = 0 \n"
                                "xmax = 2.5 \n"
                                "tiers? <exists> \n"
                                "size = 3 \n"
                                "item []: \n"
                                "    item [1]:\n"
                                "        class = \"IntervalTier\" \n"
                                "        name = \"Anna \"\"A\"\" Maria\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 2.5 \n"
                                "        intervals: size = 2 \n"
                                "        intervals [1]:\n"
                                "            xmin = 0 \n"
                                "            xmax = 1.25 \n"
                                "            text = \"he said \"\"no\"\"\" \n"
                                "        intervals [2]:\n"
                                "            xmin = 1.25 \n"
                                "            xmax = 2.5 \n"
                                "            text = \"\" \n"
                                "    item [2]:\n"
                                "        class = \"TextTier\" \n"
                                "        name = \"clicks\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 2.5 \n"
                                "        points: size = 1 \n"
                                "        points [1]:\n"
                                "            number = 1 \n"
                                "            mark = \"click\" \n"
                                "    item [3]:\n"
                                "        class = \"IntervalTier\" \n"
                                "        name = \"Bert\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 2.5 \n"
                                "        intervals: size = 1 \n"
                                "        intervals [1]:\n"
                                "            xmin = 0 \n"
                                "            xmax = 2.5 \n"
                                "            text = \"two\nlines \xC3\xA9\" \n";

static const char short_form[] =
    "File type = \"ooTextFile\"\r\nObject class = \"TextGrid\"\r\n\r\n0\r\n2.5\r\n<exists>\r\n3\r\n"
    "\"IntervalTier\"\r\n\"Anna \"\"A\"\" Maria\"\r\n0\r\n2.5\r\n2\r\n0\r\n1.25\r\n"
    "\"he said \"\"no\"\"\"\r\n1.25\r\n2.5\r\n\"\"\r\n"
    "\"TextTier\"\r\n\"clicks\"\r\n0\r\n2.5\r\n1\r\n1\r\n\"click\"\r\n"
    "\"IntervalTier\"\r\n\"Bert\"\r\n0\r\n2.5\r\n1\r\n0\r\n2.5\r\n\"two\nlines \xC3\xA9\"\r\n";

typedef struct grid {
    trl__text text;
    trl__textgrid grid;
    int64_t line;
} grid;

static int parse(const void *bytes, size_t size, grid *g)
{
    memset(&err, 0, sizeof err);
    memset(g, 0, sizeof *g);
    int code = trl__text_from_memory("grid", bytes, size, &g->text, &err);
    return code < 0 ? code : trl__textgrid_parse(&g->text, &g->grid, &g->line, &err);
}

static void release(grid *g)
{
    trl__textgrid_free(&g->grid);
    trl__text_free(&g->text);
}

static void check_content(const grid *g, int64_t first_line, int64_t last_line)
{
    assert_int_equal(g->grid.count, 2);
    const trl__tier *anna = &g->grid.tiers[0], *bert = &g->grid.tiers[1];
    assert_string_equal(anna->name, "Anna \"A\" Maria");
    assert_int_equal(anna->count, 2);
    assert_string_equal(anna->intervals[0].text, "he said \"no\"");
    assert_true(anna->intervals[0].start == 0 && anna->intervals[0].end == 1.25);
    assert_int_equal(anna->intervals[0].line, first_line);
    assert_string_equal(anna->intervals[1].text, "");
    assert_string_equal(bert->name, "Bert");
    assert_int_equal(bert->count, 1);
    assert_string_equal(bert->intervals[0].text, "two\nlines \xC3\xA9");
    assert_int_equal(bert->intervals[0].line, last_line);
}

static void test_long_form(void **state)
{
    (void)state;
    grid g;
    assert_int_equal(parse(long_form, sizeof long_form - 1, &g), 0);
    check_content(&g, 18, 41);
    release(&g);
}

static void test_short_form(void **state)
{
    (void)state;
    grid g;
    assert_int_equal(parse(short_form, sizeof short_form - 1, &g), 0);
    check_content(&g, 15, 33);
    release(&g);
}

/* The same in both byte orders of UTF-16, as Praat writes it by default. */
static void test_utf16(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        unsigned char *wide = malloc(2 * sizeof long_form + 2);
        size_t used = 0;
        wide[used++] = big ? 0xFE : 0xFF;
        wide[used++] = big ? 0xFF : 0xFE;
        for (const char *c = long_form; *c; c++) {
            int unit = (unsigned char)*c;
            if (unit == 0xC3)
                unit = 0xE9, c++; /* é is the only character beyond ASCII */
            wide[used + (size_t)big] = (unsigned char)unit;
            wide[used + (size_t)!big] = 0;
            used += 2;
        }
        grid g;
        assert_int_equal(parse(wide, used, &g), 0);
        check_content(&g, 18, 41);
        release(&g);
        free(wide);
    }
}

static void test_comments_and_flags(void **state)
{
    (void)state;
    static const char content[] = "\"ooTextFile short\" ! made by hand, 17 lines\n\"TextGrid\" 0 1 <exists> 1\n"
                                  "\"IntervalTier\" \"t\" 0 1 1 .5 +1e0 \"! not a comment\"";
    static const char none[] = "\"ooTextFile\" \"TextGrid\" 0 1 <absent>";
    grid g;
    assert_int_equal(parse(content, sizeof content - 1, &g), 0);
    assert_string_equal(g.grid.tiers[0].intervals[0].text, "! not a comment");
    assert_true(g.grid.tiers[0].intervals[0].start == 0.5 && g.grid.tiers[0].intervals[0].end == 1);
    release(&g);
    assert_int_equal(parse(none, sizeof none - 1, &g), 0);
    assert_int_equal(g.grid.count, 0);
    release(&g);
}

static void assert_refused(const char *content, int64_t line, const char *saying)
{
    grid g;
    int code = parse(content, strlen(content), &g);
    if (code != TRL_EFORMAT || g.line != line || !strstr(err.text, saying))
        fail_msg("%d, line %lld: %s (expected line %lld: %s)", code, (long long)g.line, err.text, (long long)line,
                 saying);
    assert_int_equal(g.grid.count, 0);
    release(&g);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("", 1, "not a Praat text file");
    assert_refused("hello\nthere\n", 3, "not a Praat text file");
    assert_refused("ooBinaryFile\x08TextGrid", 1, "save it as a text file");
    assert_refused("\"ooTextFile\"\n\"Pitch\"", 2, "a Praat Pitch, not a TextGrid");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists>\n-1", 2, "negative");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 1\n\n\"Melody\"", 3, "'Melody' is no class of tiers");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 9e15\n\"IntervalTier\" \"t\" 0 1 9e15\n0 1 \"a\"\n", 4,
                   "the file ends where an interval's time should be");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 1\n\"IntervalTier\" \"t\" 0 1 1\n0 1x \"a\"\n", 3,
                   "'1x' is not a number");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 1\n\"IntervalTier\" \"t\" 0 1 1\n0 \"a\"\n", 3,
                   "an interval's time is missing here");
    assert_refused("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 1\n\"IntervalTier\n\n", 4,
                   "starts in line 2 has no closing");
}

static void test_not_utf8(void **state)
{
    (void)state;
    static const char latin1[] = "\"ooTextFile\" \"TextGrid\"\r\n0 1 <exists> 1\r\n\"IntervalTier\" \"Ren\xE9\" 0 1 0";
    grid g;
    assert_int_equal(parse(latin1, sizeof latin1 - 1, &g), TRL_ECORRUPT);
    assert_int_equal(g.line, 3);
    release(&g);
}

/* Cut anywhere before its last quote, a grid is an error and never a part of itself. */
static void test_every_prefix_fails(void **state)
{
    (void)state;
    size_t whole = (size_t)(strrchr(long_form, '"') - long_form) + 1;
    for (size_t n = 0; n < whole; n++) {
        grid g;
        assert_true(parse(long_form, n, &g) < 0);
        release(&g);
    }
    grid g;
    assert_int_equal(parse(long_form, whole, &g), 0);
    release(&g);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    int code = TRL_ENOMEM, n;
    for (n = 1; code == TRL_ENOMEM; n++) {
        grid g;
        trl__memory_fail_after(n);
        code = parse(long_form, sizeof long_form - 1, &g);
        trl__memory_fail_after(0);
        release(&g);
    }
    assert_int_equal(code, 0);
    assert_true(n > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_form),
        cmocka_unit_test(test_short_form),
        cmocka_unit_test(test_utf16),
        cmocka_unit_test(test_comments_and_flags),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_not_utf8),
        cmocka_unit_test(test_every_prefix_fails),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
