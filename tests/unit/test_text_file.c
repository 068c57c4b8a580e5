/* Text files: every encoding and line end, damaged gzip, all of UTF-8, numbers. */
#define _GNU_SOURCE
#include "comma_locale.h"

#include "base/memory.h"
#include "base/text_file.h"

#include <fcntl.h>
#include <math.h>
#include <zlib.h>

#define LITERAL(text) (text), sizeof(text) - 1

/* The lines of the text are these, up to NULL; then none. */
static void expect_lines(trl__text *text, const char *const *lines)
{
    char *line;
    size_t length;
    int64_t number = 0;
    for (; *lines; lines++) {
        assert_int_equal(trl__text_line(text, &line, &length), 1);
        assert_int_equal(length, strlen(*lines));
        assert_string_equal(line, *lines);
        assert_int_equal(text->line, ++number);
    }
    assert_int_equal(trl__text_line(text, &line, &length), 0);
    assert_int_equal(trl__text_line(text, &line, &length), 0);
    assert_int_equal(text->line, number);
}

static void write_gzip(const char *name, const char *mode, const void *bytes, size_t size)
{
    gzFile file = gzopen(temp_path(name), mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* The same lines from memory, from a plain file and from a gzip file. */
static void check(const void *bytes, size_t size, const char *const *lines)
{
    trl__text text;
    assert_int_equal(trl__text_from_memory("memory", bytes, size, &text, NULL), 0);
    expect_lines(&text, lines);
    trl__text_free(&text);
    temp_write("plain", bytes, size);
    assert_int_equal(trl__text_read(temp_path("plain"), &text, NULL), 0);
    expect_lines(&text, lines);
    trl__text_free(&text);
    write_gzip("packed", "wb", bytes, size);
    assert_int_equal(trl__text_read(temp_path("packed"), &text, NULL), 0);
    expect_lines(&text, lines);
    trl__text_free(&text);
}
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_LINES ((const char *const[]){NULL})

static void all_line_ends(void **state)
{
    (void)state;
    check("", 0, NO_LINES);
    check(LITERAL("\n"), LINES(""));
    check(LITERAL("\r\n"), LINES(""));
    check(LITERAL("a"), LINES("a"));
    check(LITERAL("a\n"), LINES("a"));
    check(LITERAL("a\n\n"), LINES("a", ""));
    check(LITERAL("a\nb"), LINES("a", "b"));
    check(LITERAL("a\r\nb\r\n"), LINES("a", "b"));
    check(LITERAL("a\r\nb\r"), LINES("a", "b"));
    check(LITERAL("a\rb\n\rc\n"), LINES("a\rb", "\rc"));
    check(LITERAL("a\r\r\n"), LINES("a\r"));
}

static void marks_are_skipped(void **state)
{
    (void)state;
    check(LITERAL("\xEF\xBB\xBF"), NO_LINES);
    check(LITERAL("\xEF\xBB\xBF"
                  "a\nb\n"),
          LINES("a", "b"));
    check(LITERAL("\xEF\xBB"), LINES("\xEF\xBB"));
    check(LITERAL("a\n\xEF\xBB\xBF"
                  "b"),
          LINES("a", "\xEF\xBB\xBF"
                     "b"));
    check(LITERAL("\xFF\xFE"), NO_LINES);
    check(LITERAL("\xFE\xFF"), NO_LINES);
    check(LITERAL("\xFF\xFE"
                  "a\0\r\0\n\0\xE4\0\xAC\x20\x3D\xD8\x00\xDE"),
          LINES("a", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"));
    check(LITERAL("\xFE\xFF\0a\0\r\0\n\0\xE4\x20\xAC\xD8\x3D\xDE\x00"),
          LINES("a", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"));
}

static size_t encode_utf8(uint32_t c, char *out)
{
    if (c < 128)
        return (size_t)(out[0] = (char)c, 1);
    size_t n = c < 2048 ? 2 : c < 65536 ? 3 : 4;
    for (size_t i = n; i-- > 1; c /= 64)
        out[i] = (char)(128 + c % 64);
    out[0] = (char)(256 - (256 >> n) + (int)c);
    return n;
}

static size_t encode_utf16(uint32_t c, int big_endian, char *out)
{
    uint32_t units[2] = {c, 0};
    size_t n = c < 0x10000 ? 1 : 2;
    if (n == 2) {
        units[0] = 0xD800 + (c - 0x10000) / 1024;
        units[1] = 0xDC00 + (c - 0x10000) % 1024;
    }
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = (char)(big_endian ? units[i] / 256 : units[i] % 256);
        out[2 * i + 1] = (char)(big_endian ? units[i] % 256 : units[i] / 256);
    }
    return 2 * n;
}

static void every_character_in_utf16(void **state)
{
    (void)state;
    char *in = malloc(5 << 20), *expected = malloc(5 << 20);
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        size_t size = encode_utf16(0xFEFF, big_endian, in), used = 0;
        for (uint32_t c = 0; c <= 0x10FFFF; c++) {
            if (c >= 0xD800 && c < 0xE000)
                continue;
            size += encode_utf16(c, big_endian, in + size);
            used += encode_utf8(c, expected + used);
        }
        trl__text text;
        assert_int_equal(trl__text_from_memory("m", in, size, &text, NULL), 0);
        assert_int_equal(text.size, used);
        assert_memory_equal(text.bytes, expected, used);
        trl__text_free(&text);
    }
    free(in);
    free(expected);
}

static void broken_utf16_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size, offset;
    } broken[] = {
        {LITERAL("\xFF\xFE"
                 "a"),
         2},                                  /* half a unit */
        {LITERAL("\xFF\xFE\x3D\xD8"), 2},     /* a high surrogate at the end */
        {LITERAL("\xFF\xFE\x3D\xD8\x00"), 2}, /* and half a unit after it */
        {LITERAL("\xFF\xFE"
                 "a\0\x3D\xD8"
                 "b\0"),
         4},                                              /* a high surrogate before a letter */
        {LITERAL("\xFF\xFE\x00\xDE"), 2},                 /* a low surrogate first */
        {LITERAL("\xFE\xFF\xD8\x3D\xD8\x3D\xDE\x00"), 2}, /* two high ones */
        {LITERAL("\xFE\xFF\xD8\x3D\xDE\x00\xDE\x00"), 6}, /* two low ones */
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        trl__text text;
        trl_error err;
        char expected[100];
        snprintf(expected, sizeof expected, "m: at byte %zu: broken UTF-16; save the file as UTF-8", broken[i].offset);
        assert_int_equal(trl__text_from_memory("m", broken[i].bytes, broken[i].size, &text, &err), TRL_EFORMAT);
        assert_string_equal(err.text, expected);
        assert_null(text.bytes);
    }
}

static void nul_bytes_do_not_hide_what_follows(void **state)
{
    (void)state;
    trl__text text;
    char *line;
    size_t length;
    assert_int_equal(trl__text_from_memory("m", LITERAL("a\0b\nc"), &text, NULL), 0);
    assert_int_equal(trl__text_line(&text, &line, &length), 1);
    assert_int_equal(length, 3);
    assert_memory_equal(line, "a\0b", 4);
    assert_int_equal(trl__utf8_check(line, length), 1);
    assert_int_equal(trl__text_line(&text, &line, &length), 1);
    assert_string_equal(line, "c");
    trl__text_free(&text);
}

static void huge_lines(void **state)
{
    (void)state;
    enum { HUGE = 9 << 20 };
    char *huge = malloc(HUGE + 1);
    for (size_t i = 0; i < HUGE; i++)
        huge[i] = (char)('a' + i % 23);
    huge[HUGE] = '\0';
    const char *const lines[] = {huge, NULL};
    check(huge, HUGE, lines);
    free(huge);
}

static void members_of_a_gzip_file_follow_each_other(void **state)
{
    (void)state;
    trl__text text;
    write_gzip("packed", "wb", LITERAL("a\nb"));
    write_gzip("packed", "ab", LITERAL("c\nd"));
    assert_int_equal(trl__text_read(temp_path("packed"), &text, NULL), 0);
    expect_lines(&text, LINES("a", "bc", "d"));
    trl__text_free(&text);
}

static size_t load(const char *name, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(temp_path(name), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static void a_truncated_gzip_file_is_an_error(void **state)
{
    (void)state;
    unsigned char packed[1000];
    write_gzip("packed", "wb", LITERAL("one line\nanother line\nand a third line that is longer\n"));
    size_t size = load("packed", packed, sizeof packed);
    for (size_t n = 2; n < size; n++) {
        trl__text text;
        trl_error err;
        temp_write("cut", packed, n);
        assert_int_equal(trl__text_read(temp_path("cut"), &text, &err), TRL_ECORRUPT);
        char expected[100];
        snprintf(expected, sizeof expected, "/cut: at byte %zu: the gzip data ends too early", n);
        assert_non_null(strstr(err.text, expected));
        assert_null(text.bytes);
    }
}

/* One wrong byte gives an error or (in the header's unused fields) the right text, never a wrong one. */
/* A hundred mebibytes of zeros are half a mebibyte of gzip, and not unpacked to the end; as many of a text are no
 * bomb. */
static void a_gzip_bomb_is_refused(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20 };
    trl__text text;
    trl_error err;
    char *piece = calloc(1, PIECE);
    gzFile file = gzopen(temp_path("bomb"), "wb1");
    for (int i = 0; i < 100; i++)
        assert_int_equal(gzwrite(file, piece, PIECE), PIECE);
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(trl__text_read(temp_path("bomb"), &text, &err), TRL_ELIMIT);
    assert_non_null(strstr(err.text, "bomb: the first "));
    assert_non_null(strstr(err.text, "unpack to more than 3"));
    file = gzopen(temp_path("large"), "wb1");
    for (int i = 0, line = 0; i < 40; i++) {
        for (size_t at = 0; at + 20 < PIECE; line++)
            at += (size_t)sprintf(piece + at, "%d %d\n", line, line % 77);
        assert_int_equal(gzwrite(file, piece, PIECE), PIECE);
    }
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(trl__text_read(temp_path("large"), &text, &err), 0);
    assert_int_equal(text.size, 40 * (size_t)PIECE);
    trl__text_free(&text);
    free(piece);
}

static void a_damaged_gzip_file_is_an_error(void **state)
{
    (void)state;
    static const char content[] = "one line\nanother line\nand a third line that is longer\n";
    unsigned char packed[1000];
    write_gzip("packed", "wb", content, sizeof content - 1);
    size_t size = load("packed", packed, sizeof packed), errors = 0;
    for (size_t i = 2; i < size; i++) {
        for (int flip = 1; flip < 256; flip = flip * 2 + 1) {
            trl__text text;
            trl_error err;
            packed[i] ^= (unsigned char)flip;
            temp_write("bad", packed, size);
            packed[i] ^= (unsigned char)flip;
            int code = trl__text_read(temp_path("bad"), &text, &err);
            if (code == 0)
                assert_string_equal(text.bytes, content);
            else
                assert_int_equal(code, TRL_ECORRUPT);
            errors += code != 0;
            if (i == size - 8) { /* the checksum, wrong when it has been read */
                char expected[100];
                snprintf(expected, sizeof expected, "/bad: at byte %zu: the gzip data is damaged", size - 4);
                assert_non_null(strstr(err.text, expected));
            }
            trl__text_free(&text);
        }
    }
    assert_true(errors >= (size - 10) * 8); /* everything behind the ten bytes of the header */
}

static void what_can_not_be_read(void **state)
{
    (void)state;
    trl__text text;
    trl_error err;
    assert_int_equal(trl__text_read(temp_path("missing"), &text, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "/missing: can't open: No such file or directory"));
    assert_int_equal(trl__text_read(temp_folder, &text, &err), TRL_EIO);
    assert_non_null(strstr(err.text, ": is a folder, not a file"));
    temp_write("sparse", "", 0);
    assert_int_equal(truncate(temp_path("sparse"), ((off_t)4 << 30) + 1), 0);
    assert_int_equal(trl__text_read(temp_path("sparse"), &text, &err), TRL_ELIMIT);
    assert_non_null(strstr(err.text, "/sparse: larger than 4 GiB of text; split it"));
    assert_null(text.bytes);
}

static void standard_input(void **state)
{
    (void)state;
    trl__text text;
    write_gzip("packed", "wb", LITERAL("a\nb\n"));
    int saved = dup(STDIN_FILENO), file = open(temp_path("packed"), O_RDONLY);
    dup2(file, STDIN_FILENO);
    int code = trl__text_read("-", &text, NULL);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(file);
    assert_int_equal(code, 0);
    expect_lines(&text, LINES("a", "b"));
    trl__text_free(&text);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static char utf16[200000] = "\xFF\xFE";
    for (size_t i = 2; i < sizeof utf16; i += 2)
        utf16[i] = 'x';
    temp_write("file", utf16, sizeof utf16);
    for (int from_file = 0; from_file < 2; from_file++) {
        int code = TRL_ENOMEM, failures = -1;
        for (long n = 1; code != 0; n++, failures++) {
            trl__text text;
            trl_error err;
            trl__memory_fail_after(n);
            code = from_file ? trl__text_read(temp_path("file"), &text, &err)
                             : trl__text_from_memory("m", utf16, sizeof utf16, &text, &err);
            trl__memory_fail_after(0);
            if (code != 0) {
                assert_int_equal(code, TRL_ENOMEM);
                assert_null(text.bytes);
            }
            trl__text_free(&text);
        }
        assert_true(failures >= 2);
    }
}

/* All sequences of one to three bytes, against tables filled by encoding every character there is. */
static void utf8_up_to_three_bytes(void **state)
{
    (void)state;
    static unsigned char one[256], two[65536], three[1 << 24];
    for (uint32_t c = 1; c < 0x10000; c++) {
        char bytes[4];
        if (c >= 0xD800 && c < 0xE000)
            continue;
        size_t n = encode_utf8(c, bytes);
        const unsigned char *b = (const unsigned char *)bytes;
        (n == 1   ? one
         : n == 2 ? two
                  : three)[n == 1   ? b[0]
                           : n == 2 ? b[0] * 256 + b[1]
                                    : b[0] * 65536 + b[1] * 256 + b[2]] = 1;
    }
    size_t wrong = 0;
    for (uint32_t s = 0; s < 1 << 24; s++) {
        const unsigned char b[3] = {(unsigned char)(s >> 16), (unsigned char)(s >> 8), (unsigned char)s};
        size_t pair = one[b[0]] ? 1 + one[b[1]] : two[s >> 8] ? 2 : 0;
        size_t triple = three[s]          ? 3
                        : two[s >> 8]     ? 2 + one[b[2]]
                        : !one[b[0]]      ? 0
                        : two[s & 0xFFFF] ? 3
                        : one[b[1]]       ? 2 + one[b[2]]
                                          : 1;
        wrong += trl__utf8_check((const char *)b, 3) != triple;
        wrong += (s & 0xFF) == 0 && trl__utf8_check((const char *)b, 2) != pair;
        wrong += (s & 0xFFFF) == 0 && trl__utf8_check((const char *)b, 1) != one[b[0]];
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(trl__utf8_check("", 0), 0);
}

static void utf8_of_four_bytes(void **state)
{
    (void)state;
    char bytes[8];
    size_t wrong = 0;
    for (uint32_t c = 0x10000; c <= 0x10FFFF; c++) {
        assert_int_equal(encode_utf8(c, bytes), 4);
        for (size_t n = 1; n <= 4; n++)
            wrong += trl__utf8_check(bytes, n) != (n == 4 ? 4 : 0);
    }
    static const int edges[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    for (int first = 0xF0; first < 256; first++)
        for (int second = 0; second < 256; second++)
            for (int i = 0; i < 36; i++) {
                int third = edges[i / 6], fourth = edges[i % 6];
                uint32_t c = (uint32_t)((first & 7) << 18 | (second & 63) << 12 | (third & 63) << 6 | (fourth & 63));
                const char s[4] = {(char)first, (char)second, (char)third, (char)fourth};
                int valid = c >= 0x10000 && c <= 0x10FFFF && encode_utf8(c, bytes) == 4 && memcmp(s, bytes, 4) == 0;
                wrong += trl__utf8_check(s, 4) != (valid ? 4 : 0);
            }
    assert_int_equal(wrong, 0);
}

static void fields(void **state)
{
    (void)state;
    char line[] = " \tone two\t\tthree  ", empty[] = "", blank[] = " \t ";
    char *cursor = line;
    assert_string_equal(trl__next_field(&cursor), "one");
    assert_string_equal(trl__next_field(&cursor), "two");
    assert_string_equal(trl__next_field(&cursor), "three");
    assert_null(trl__next_field(&cursor));
    assert_null(trl__next_field(&cursor));
    cursor = empty;
    assert_null(trl__next_field(&cursor));
    cursor = blank;
    assert_null(trl__next_field(&cursor));
}

static void numbers(void **state)
{
    (void)state;
    double d = 77;
    int64_t i = 77;
    static const char *const bad_doubles[] = {"",    " 1",   "1 ",    "x",   "1x",  "nan",
                                              "inf", "-inf", "1e999", "1,5", "--1", "."};
    for (size_t k = 0; k < sizeof bad_doubles / sizeof *bad_doubles; k++)
        assert_int_equal(trl__parse_double(bad_doubles[k], &d), -1);
    static const char *const bad_ints[] = {
        "", " 1", "1 ", "x", "1.5", "0x10", "9223372036854775808", "-9223372036854775809"};
    for (size_t k = 0; k < sizeof bad_ints / sizeof *bad_ints; k++)
        assert_int_equal(trl__parse_int(bad_ints[k], &i), -1);
    assert_true(d == 77);
    assert_int_equal(i, 77);
    assert_true(trl__parse_double("1.5", &d) == 0 && d == 1.5);
    assert_true(trl__parse_double("-2.5e-3", &d) == 0 && d == -0.0025);
    assert_true(trl__parse_double("+.5", &d) == 0 && d == 0.5);
    assert_true(trl__parse_double("1e-999", &d) == 0 && d == 0);
    assert_true(trl__parse_int("9223372036854775807", &i) == 0 && i == INT64_MAX);
    assert_true(trl__parse_int("-9223372036854775808", &i) == 0 && i == INT64_MIN);
    assert_true(trl__parse_int("+7", &i) == 0 && i == 7);
}

static void trimmed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"", ""}, {" \t ", ""}, {"a b", "a b"}, {"\t a\tb \t", "a\tb"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        assert_string_equal(trl__trim(text), cases[i][1]);
    }
}

static void formatted_numbers(void **state)
{
    (void)state;
    char text[32];
    double back;
    trl__format_double(0.97, text);
    assert_string_equal(text, "0.97");
    static const struct {
        float value;
        const char *text;
    } floats[] = {{0.1f, "0.1"},
                  {0, "0"},
                  {-3.5f, "-3.5"},
                  {1, "1"},
                  {100, "100"},
                  {0.001f, "0.001"},
                  {1e6f, "1e+06"},
                  {123456, "123456"},
                  {10, "10"},
                  {999999.9f, "999999.9"},
                  {18.33838f, "18.33838"},
                  {0.0625f, "0.0625"},
                  {-0.00123f, "-0.00123"},
                  {1e-9f, "1e-09"}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        trl__format_float(floats[i].value, text);
        assert_string_equal(text, floats[i].text);
    }
    for (uint32_t i = 0; i < 300000; i++) { /* the usual sizes */
        float value = (float)(i % 2 ? 1 : -1) * (float)pow(10, 9.0 * i / 300000 - 3) * (1 + 1e-7f * (float)(i % 97));
        trl__format_float(value, text);
        assert_true(strtof(text, NULL) == value);
    }
    for (uint64_t bits = 1; bits < UINT64_MAX / 3; bits = bits * 3 + 1) { /* also subnormal ones */
        double value;
        float single;
        uint32_t low = (uint32_t)bits & 0x7F7FFFFF;
        memcpy(&value, &bits, sizeof value);
        memcpy(&single, &low, sizeof single);
        trl__format_double(value, text);
        assert_int_equal(trl__parse_double(text, &back), 0);
        assert_true(back == value);
        trl__format_float(single, text);
        assert_true(strtof(text, NULL) == single);
    }
}

static void numbers_in_a_locale_with_commas(void **state)
{
    (void)state;
    set_comma_locale();
    double d = 0;
    int has_comma = strtod("1,5", NULL) == 1.5;
    int point = trl__parse_double("1.5", &d), comma = trl__parse_double("1,5", &(double){0});
    char text[32];
    trl__format_double(1.5, text);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "1.5");
    assert_true(has_comma);
    assert_int_equal(point, 0);
    assert_true(d == 1.5);
    assert_int_equal(comma, -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_folder_make, temp_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(all_line_ends),
        IN_FOLDER(marks_are_skipped),
        cmocka_unit_test(every_character_in_utf16),
        cmocka_unit_test(broken_utf16_is_refused),
        cmocka_unit_test(nul_bytes_do_not_hide_what_follows),
        IN_FOLDER(huge_lines),
        IN_FOLDER(members_of_a_gzip_file_follow_each_other),
        IN_FOLDER(a_truncated_gzip_file_is_an_error),
        IN_FOLDER(a_gzip_bomb_is_refused),
        IN_FOLDER(a_damaged_gzip_file_is_an_error),
        IN_FOLDER(what_can_not_be_read),
        IN_FOLDER(standard_input),
        IN_FOLDER(every_allocation_may_fail),
        cmocka_unit_test(utf8_up_to_three_bytes),
        cmocka_unit_test(utf8_of_four_bytes),
        cmocka_unit_test(fields),
        cmocka_unit_test(numbers),
        cmocka_unit_test(trimmed),
        cmocka_unit_test(formatted_numbers),
        IN_FOLDER(numbers_in_a_locale_with_commas),
    };
    return RUN(tests);
}
