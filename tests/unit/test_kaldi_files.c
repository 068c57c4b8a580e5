/* Kaldi archives and scripts, from bytes laid out by hand. */
#include "bytes_fixture.h"
#include "comma_locale.h"
#include "feat/feature_format.h"

#include <trellis/feature_file.h>

/* The first matrix of an archive in memory; none at all is TRL_ENOENT. */
static int read_bytes(const void *bytes, size_t size, trl_matrix *m)
{
    trl__source source;
    trl_feature_reader *reader;
    const char *id;
    assert_int_equal(trl__source_from_memory("x.ark", bytes, size, &source, &err), 0);
    assert_int_equal(trl__ark_from_source(&source, &reader, &err), 0);
    int code = trl_feature_reader_next(reader, &id, m, &err);
    if (code == 1)
        assert_string_equal(id, "u");
    trl_feature_reader_close(reader);
    return code == 1 ? 0 : code == 0 ? TRL_ENOENT : code;
}

static void plain_kinds(void **state)
{
    (void)state;
    EXPECT("u \0BFM \4\1\0\0\0\4\2\0\0\0\0\0\x80\x3F\0\0\0\xC0", 1, 2, 1, -2);
    EXPECT("u \0BDM \4\2\0\0\0\4\1\0\0\0\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\xC0", 2, 1, 1, -2);
    EXPECT("u \0BFV \4\2\0\0\0\0\0\x80\x3F\0\0\0\xC0", 1, 2, 1, -2);
    EXPECT("u \0BDV \4\1\0\0\0\0\0\0\0\0\0\xF0\x3F", 1, 1, 1);
    EXPECT("u \0BFM \4\0\0\0\0\4\0\0\0\0", 0, 0, 0);
    EXPECT("\n u  [ 1 -2e0 ]\n", 1, 2, 1, -2);
    EXPECT("u [\n 1 2 \r\n 3 4 ]", 2, 2, 1, 2, 3, 4);
    EXPECT("u [ 1 2 ; 3 4 ]\n", 2, 2, 1, 2, 3, 4);
    EXPECT("u  [ ]\n", 0, 0, 0);
}

/* The range is 0 … 65535, so percent points are themselves; bytes 0, 32, 64, 128, 192, 255 in between. */
static void compressed_kinds(void **state)
{
    (void)state;
    EXPECT("u \0BCM \0\0\0\0\0\xFF\x7F\x47\6\0\0\0\1\0\0\0\0\0\x40\0\xC0\0\xFF\0\0\x20\x40\x80\xC0\xFF", 6, 1, 0, 32,
           64, 128, 192, 255);
    EXPECT("u \0BCM2 \0\0\0\0\0\xFF\x7F\x47\1\0\0\0\3\0\0\0\0\0\1\1\xFF\xFF", 1, 3, 0, 257, 65535);
    EXPECT("u \0BCM3 \0\0\x80\x3F\0\0\x7F\x43\1\0\0\0\3\0\0\0\0\1\xFF", 1, 3, 1, 2, 256);
    EXPECT("u \0BCM \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 0, 0, 0); /* with Kaldi's four bytes too many */
}

static void wrong_archives_are_refused_with_their_place(void **state)
{
    (void)state;
    REFUSE("u \0BFM \4\1\0\0\0\4\2\0\0\0\0\0\x80\x3F", TRL_ECORRUPT, "x.ark: at byte 17: 8 more bytes should follow");
    REFUSE("u \0BFM \4\xFF\xFF\xFF\x7F\4\xFF\xFF\xFF\x7F....", TRL_ECORRUPT, "but there are only 4");
    REFUSE("u \0BCM \0\0\0\0\0\0\0\0\xFF\xFF\xFF\x7F\xFF\xFF\xFF\x7F", TRL_ECORRUPT, "at byte 23");
    /* 0x60000000 rows x 0x55555556 columns x 8 bytes is 2^64 + 0x300000000: it must not wrap */
    REFUSE("u \0BDM \4\0\0\0\x60\4\x56\x55\x55\x55....", TRL_ECORRUPT, "18446744073709551615 more bytes");
    REFUSE("u \0BFM \4\xFF\xFF\xFF\xFF\4\1\0\0\0", TRL_ECORRUPT, "-1 rows or columns");
    REFUSE("u \0BFM \4\1\0\0\0\4\0\0\0\0", TRL_ECORRUPT, "1 rows x 0 columns");
    REFUSE("u \0BFM \5\1\0\0\0\4\0\0\0\0", TRL_EFORMAT, "x.ark: at byte 7: expected the size");
    REFUSE("u \0BSM \4\1\0\0\0", TRL_EUNSUPPORTED, "found 'SM'");
    REFUSE("u \0CFM ", TRL_EFORMAT, "at byte 2");
    REFUSE("u [\n 1 2\n 3 ]\n", TRL_EFORMAT, "x.ark:3: row 1 has 1 numbers, the rows before it 2");
    REFUSE("u [\n 1 2\n 3 x ]\n", TRL_EFORMAT, "x.ark:3: expected a number or ']', found 'x'");
    REFUSE("u [\n 1 2\n", TRL_ECORRUPT, "']' is missing");
    REFUSE("u [ 1e39 ]\n", TRL_ENUMBER, "'1e39' in frame 0, column 0");
    REFUSE("u [ 1 ] 2\n", TRL_EFORMAT, "end of the line");
    REFUSE("u { 1 ]\n", TRL_EFORMAT, "expected a matrix");
    REFUSE("just-one-word", TRL_ECORRUPT, "expected an utterance id");
    REFUSE("word\n", TRL_EFORMAT, "expected an utterance id");
    REFUSE("\0BFM ", TRL_EFORMAT, "expected an utterance id");
    REFUSE("\xFFu [ 1 ]\n", TRL_EFORMAT, "UTF-8");
    /* a double that no float can hold is infinity, found with its place */
    REFUSE("u \0BDM \4\1\0\0\0\4\1\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xEF\x7F", TRL_ENUMBER,
           "infinity in frame 0, column 0");
    REFUSE("u \0BCM3 \xFF\xFF\x7F\x7F\xFF\xFF\x7F\x7F\1\0\0\0\1\0\0\0\xFF", TRL_ENUMBER,
           "infinity in frame 0, column 0");
}

static void every_cut_is_seen(void **state)
{
    (void)state;
    static const char *const archives[] = {"u \0BFM \4\1\0\0\0\4\2\0\0\0\0\0\x80\x3F\0\0\0\xC0",
                                           "u \0BCM \0\0\0\0\0\xFF\x7F\x47\1\0\0\0\1\0\0\0\0\0\x40\0\xC0\0\xFF\0\0"};
    static const size_t sizes[] = {25, 32};
    for (int i = 0; i < 2; i++)
        for (size_t n = 1; n < sizes[i]; n++) {
            trl_matrix m = {0};
            int code = read_bytes(archives[i], n, &m);
            assert_true(code == TRL_ECORRUPT || code == TRL_EFORMAT);
            trl_matrix_free(&m);
        }
}

/* ---- scripts ---- */

static int open_script(const char *text, trl_feature_reader **reader)
{
    trl__text lines;
    assert_int_equal(trl__text_from_memory("x.scp", text, strlen(text), &lines, &err), 0);
    return trl__scp_from_text(&lines, temp_path("x.scp"), reader, &err);
}

static void refuse_script(const char *text, int code, const char *message)
{
    trl_feature_reader *reader;
    assert_int_equal(open_script(text, &reader), code);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
}

static void wrong_scripts_are_refused_with_their_line(void **state)
{
    (void)state;
    refuse_script("a x.ark:1\nb gunzip -c x.gz |\n", TRL_EUNSUPPORTED,
                  "x.scp:2: utterance b is a command; commands are");
    refuse_script("a | cat\n", TRL_EUNSUPPORTED, "never run");
    refuse_script("a\n", TRL_EFORMAT, "x.scp:1: utterance a without a file");
    refuse_script("a x\n\na y\n", TRL_EFORMAT, "x.scp:3: utterance a is there twice, first in line 1");
    refuse_script("a x[1:0]\n", TRL_EFORMAT, "x.scp:1: utterance a: a range is");
    refuse_script("a x[-1:0]\n", TRL_EFORMAT, "range");
    refuse_script("a x[1]\n", TRL_EFORMAT, "range");
    refuse_script("a [1:2]\n", TRL_EFORMAT, "range");
    refuse_script("a x:99999999999999999999\n", TRL_EFORMAT, "FILE:OFFSET");
    refuse_script("a -\n", TRL_EUNSUPPORTED, "standard input");
    refuse_script("a \xFF\n", TRL_EFORMAT, "UTF-8");
}

static const char rows_text[] = "u [ 0 1 2\n 10 11 12\n 20 21 22\n 30 31 32 ]\n";

/* The rows and columns that the range leaves of the matrix above; rows = 0: an error with this code. */
static void expect_range(const char *range, int code, size_t rows, size_t cols, float first, float last)
{
    char script[1400];
    trl_feature_reader *reader;
    trl_matrix m = {0};
    temp_write("rows.ark", rows_text, sizeof rows_text - 1);
    snprintf(script, sizeof script, "z %s:2%s\n", temp_path("rows.ark"), range);
    assert_int_equal(open_script(script, &reader), 0);
    assert_int_equal(trl_feature_reader_find(reader, "z", &m, &err), code);
    if (code == 0) {
        assert_int_equal(m.rows, rows);
        assert_int_equal(m.cols, cols);
        assert_true(trl_matrix_row(&m, 0)[0] == first && trl_matrix_row(&m, rows - 1)[cols - 1] == last);
    } else {
        assert_non_null(strstr(err.text, "x.scp:1: utterance z"));
    }
    trl_matrix_free(&m);
    trl_feature_reader_close(reader);
}

static void ranges_are_inclusive(void **state)
{
    (void)state;
    expect_range("", 0, 4, 3, 0, 32);
    expect_range("[1:2]", 0, 2, 3, 10, 22);
    expect_range("[0:0,1:1]", 0, 1, 1, 1, 1);
    expect_range("[:,1:2]", 0, 4, 2, 1, 32);
    expect_range("[2:3,:]", 0, 2, 3, 20, 32);
    expect_range("[2:6]", 0, 2, 3, 20, 32); /* Kaldi's tolerance: three rows */
    expect_range("[2:7]", TRL_EFORMAT, 0, 0, 0, 0);
    expect_range("[4:4]", TRL_EFORMAT, 0, 0, 0, 0);
    expect_range("[0:1,0:3]", TRL_EFORMAT, 0, 0, 0, 0);
}

/* Behind an offset, lines are not known: the place is a byte. At the front it is a line. */
static void places_in_named_files_are_right(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_matrix m = {0};
    temp_write("bad.ark", "u [ 1 ]\nv [ x ]\n", 16);
    temp_write("bad.mat", "[\n 1\n x ]\n", 10);
    assert_int_equal(open_script("v bad.ark:10\nw bad.mat\n", &reader), 0);
    assert_int_equal(trl_feature_reader_find(reader, "v", &m, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "bad.ark: at byte 13: expected a number"));
    assert_int_equal(trl_feature_reader_find(reader, "w", &m, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "bad.mat:3: expected a number"));
    trl_matrix_free(&m);
    trl_feature_reader_close(reader);
}

static void files_are_found_beside_the_script(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_matrix m = {0};
    const char *id;
    temp_write("m.mat", "[ 5 6 ]\n", 8);
    assert_int_equal(open_script("a m.mat\nb m.mat\nc absent.mat\nd m.mat:100\n", &reader), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 1);
        assert_true(m.rows == 1 && m.cols == 2 && m.data[0] == 5 && m.data[1] == 6);
    }
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "absent.mat"));
    assert_non_null(strstr(err.text, "utterance c, line 3"));
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), TRL_ECORRUPT);
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 0);
    assert_int_equal(trl_feature_reader_find(reader, "a", &m, &err), 0);
    trl_matrix_free(&m);
    trl_feature_reader_close(reader);
}

/* An application may have set a language with decimal commas. */
static void commas_of_the_language_do_not_matter(void **state)
{
    (void)state;
    set_comma_locale();
    trl_feature_writer *writer;
    float number = 2.5f;
    trl_matrix m = {&number, 1, 1, 1, 0};
    assert_int_equal(trl_feature_writer_open(temp_place("ark,t", "comma.txt"), NULL, &writer, &err), 0);
    assert_int_equal(trl_feature_writer_add(writer, "u", &m, &err), 0);
    assert_int_equal(trl_feature_writer_commit(writer, &err), 0);
    temp_expect("comma.txt", "u  [\n  2.5 ]\n", 13);
    EXPECT("u [ 2.5 ]", 1, 1, 2.5f);
    setlocale(LC_ALL, "C");
}

static void a_matrix_of_its_own_has_no_nan(void **state)
{
    (void)state;
    static const char nan[] = "\0BFM \4\1\0\0\0\4\2\0\0\0\0\0\x80\x3F\0\0\xC0\x7F";
    trl_matrix m = {0};
    temp_write("nan.mat", nan, sizeof nan - 1);
    assert_int_equal(trl_feature_read_matrix(temp_path("nan.mat"), &m, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "nan.mat: not a number (NaN) in frame 0, column 1"));
    trl_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kinds),
        cmocka_unit_test(compressed_kinds),
        cmocka_unit_test(wrong_archives_are_refused_with_their_place),
        cmocka_unit_test(every_cut_is_seen),
        cmocka_unit_test(wrong_scripts_are_refused_with_their_line),
        cmocka_unit_test(ranges_are_inclusive),
        cmocka_unit_test(places_in_named_files_are_right),
        cmocka_unit_test(files_are_found_beside_the_script),
        cmocka_unit_test(commas_of_the_language_do_not_matter),
        cmocka_unit_test(a_matrix_of_its_own_has_no_nan),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
