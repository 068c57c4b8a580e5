/* HTK parameter files, from bytes laid out by hand. */
#include "bytes_fixture.h"
#include "feat/feature_format.h"

#include <trellis/feature_file.h>

static int read_bytes(const void *bytes, size_t size, trl_matrix *m)
{
    trl__source source;
    assert_int_equal(trl__source_from_memory("x.htk", bytes, size, &source, &err), 0);
    int code = trl__htk_read(&source, m, &err);
    trl__source_close(&source);
    return code;
}

#define PERIOD "\0\1\x86\xA0" /* 100000 x 100 ns = 10 ms */

static void kinds_are_decoded(void **state)
{
    (void)state;
    /* MFCC_E_D_A_Z_0 = 6 + 0100 + 0400 + 01000 + 04000 + 020000: float32 */
    EXPECT("\0\0\0\2" PERIOD "\0\4\x2B\x46\x3F\x80\0\0\xC0\0\0\0", 2, 1, 1, -2);
    /* _V and _T are the two highest bits */
    EXPECT("\0\0\0\1" PERIOD "\0\4\xC0\x06\x3F\x80\0\0", 1, 1, 1);
    /* WAVEFORM and DISCRETE: int16 as they are */
    EXPECT("\0\0\0\2" PERIOD "\0\2\0\0\0\7\xFF\xFE", 2, 1, 7, -2);
    EXPECT("\0\0\0\1" PERIOD "\0\4\0\x0A\0\7\1\0", 1, 2, 7, 256);
    /* IREFC: int16 / 32767 */
    EXPECT("\0\0\0\2" PERIOD "\0\2\0\5\x7F\xFF\x80\1", 2, 1, 1, -1);
    /* MFCC_C: A = 2, B = 10; 4 samples more than frames: (20 + 10) / 2 and (-30 + 10) / 2 */
    EXPECT("\0\0\0\6" PERIOD "\0\2\4\6\x40\0\0\0\x41\x20\0\0\0\x14\xFF\xE2", 2, 1, 15, -10);
    EXPECT("\0\0\0\0" PERIOD "\0\4\0\x09", 0, 1, 0);
}

/* Words 1, 2: 1 * 65536 + 2 = 65538 = 36897 + 28641, and 28641 = 0x6FE1. */
static void the_checksum_is_checked(void **state)
{
    (void)state;
    trl_matrix m = {0};
    static const char good[] = "\0\0\0\2" PERIOD "\0\2\x10\0\0\1\0\2\x6F\xE1";
    static const char bad[] = "\0\0\0\2" PERIOD "\0\2\x10\0\0\1\0\3\x6F\xE1";
    EXPECT(good, 2, 1, 1, 2);
    assert_int_equal(read_bytes(bad, sizeof bad - 1, &m), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, "x.htk: at byte 16: damaged: the checksum is 28641, the data give 28642"));
    assert_int_equal(read_bytes(good, sizeof good - 3, &m), TRL_ECORRUPT);
    trl_matrix_free(&m);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    REFUSE("", TRL_ECORRUPT, "at byte 0: 12 more bytes");
    REFUSE("\x7F\xFF\xFF\xFF" PERIOD "\xFF\xFC\0\6....", TRL_ECORRUPT, "but there are only 4");
    REFUSE("\0\0\0\1" PERIOD "\0\4\0\x0D\0\0\0\0", TRL_EFORMAT, "at byte 10: not an HTK");
    REFUSE("\xFF\0\0\1" PERIOD "\0\4\0\6\0\0\0\0", TRL_EFORMAT, "negative");
    REFUSE("\0\0\0\1" PERIOD "\0\0\0\6", TRL_EFORMAT, "at byte 8");
    REFUSE("\0\0\0\1" PERIOD "\0\6\0\6\0\0\0\0\0\0", TRL_EFORMAT, "sample size");
    REFUSE("\0\0\0\3" PERIOD "\0\2\4\6\0\0\0\0\0\0", TRL_EFORMAT, "too few samples");
    REFUSE("\0\0\0\1" PERIOD "\0\4\0\6\0\0\0\0.", TRL_ECORRUPT, "at byte 16: bytes after");
}

static void what_is_written_is_as_documented(void **state)
{
    (void)state;
    trl_feature_writer_options options = trl_feature_writer_defaults();
    trl_feature_writer *writer;
    float numbers[] = {1, -2};
    trl_matrix m = {numbers, 2, 1, 1, 0};
    options.htk_kind = 6 | 020000;
    options.shift_ms = 12.5;
    assert_int_equal(trl_feature_writer_open(temp_path("w.mfc"), &options, &writer, &err), 0);
    assert_int_equal(trl_feature_writer_add(writer, "w", &m, &err), 0);
    assert_int_equal(trl_feature_writer_commit(writer, &err), 0);
    temp_expect("w.mfc", "\0\0\0\2\0\1\xE8\x48\0\4\x20\6\x3F\x80\0\0\xC0\0\0\0", 20);
    options.htk_kind = 6 | 02000;
    assert_int_equal(trl_feature_writer_open(temp_path("w.mfc"), &options, &writer, &err), TRL_EINVAL);
    options.htk_kind = 9;
    options.shift_ms = 0;
    assert_int_equal(trl_feature_writer_open(temp_path("w.mfc"), &options, &writer, &err), TRL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_decoded),
        cmocka_unit_test(the_checksum_is_checked),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(what_is_written_is_as_documented),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
