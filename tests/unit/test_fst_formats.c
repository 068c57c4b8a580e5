/* Files of transducers, laid out by hand: what they mean, and what is refused with which place. */
#include "base/memory.h"
#include "base/text_file.h"
#include "fst/fst_format.h"
#include "fst_fixture.h"
#include "temp_folder.h"

#include <zlib.h>

static trl_error err;

static void expect_error(int code, int wanted, const char *text)
{
    if (code != wanted || !strstr(err.text, text))
        fail_msg("code %d instead of %d, or '%s' is not in '%s'", code, wanted, text, code < 0 ? err.text : "");
}

/* ---- Text ---- */

static int read_text(const char *text, trl_semiring semiring, const trl_fst_text_options *options, trl_fst **fst)
{
    trl__source source;
    assert_int_equal(trl__source_from_memory("t", text, strlen(text), &source, NULL), 0);
    int code = trl__fst_read_text(&source, semiring, options, fst, &err);
    trl__source_close(&source);
    return code;
}

static void expect_arc(const trl_fst *fst, int32_t state, uint32_t i, int32_t ilabel, int32_t olabel, float value,
                       float second, int32_t next)
{
    assert_true(i < trl_fst_arc_count(fst, state));
    trl_arc a = trl_fst_arc(fst, state, i);
    assert_int_equal(a.ilabel, ilabel);
    assert_int_equal(a.olabel, olabel);
    assert_true(a.weight.value == value && a.weight.second == second);
    assert_int_equal(a.next, next);
}

static void states_are_numbered_as_they_appear(void **state)
{
    (void)state;
    trl_fst *fst;
    assert_int_equal(
        read_text("7 2000000000 1 2 0.5\r\n\n \t\n2000000000 7\t0  3\n9 Infinity\n7 1e-1", TRL_TROPICAL, NULL, &fst),
        0);
    assert_int_equal(trl_fst_states(fst), 3);
    assert_int_equal(trl_fst_start(fst), 0);
    expect_arc(fst, 0, 0, 1, 2, 0.5f, 0, 1);
    expect_arc(fst, 1, 0, 0, 3, 0, 0, 0);
    assert_true(trl_fst_final(fst, 0).value == 0.1f);
    assert_true(isinf(trl_fst_final(fst, 1).value) && isinf(trl_fst_final(fst, 2).value));
    trl_fst_destroy(fst);

    trl_fst_text_options keep = {.keep_state_numbering = 1, .acceptor = 1};
    assert_int_equal(read_text("3 1 5\n1 2 5 2,-1\n4 Infinity,Infinity\n2", TRL_LATTICE, &keep, &fst), 0);
    assert_int_equal(trl_fst_states(fst), 5);
    assert_int_equal(trl_fst_start(fst), 3);
    expect_arc(fst, 3, 0, 5, 5, 0, 0, 1);
    expect_arc(fst, 1, 0, 5, 5, 2, -1, 2);
    assert_true(trl_fst_final(fst, 2).value == 0);
    trl_fst_destroy(fst);
}

/* More numbers than are looked up directly, far apart and near, in any order. */
static void numbers_of_states_may_be_anything(void **state)
{
    (void)state;
    static char text[400000];
    size_t used = 0;
    random_source r = {3};
    static uint32_t number[5000];
    for (uint32_t i = 0; i < 5000; i++)
        number[i] = i % 2 ? i * 400000u + 1 : i; /* all different */
    for (int i = 0; i < 12000; i++) {
        uint32_t from = i < 5000 ? (uint32_t)i : random_below(&r, 5000),
                 to = random_below(&r, (uint32_t)(i < 5000 ? i + 1 : 5000));
        used += (size_t)snprintf(text + used, sizeof text - used, "%u %u %u 0\n", number[from], number[to],
                                 from * 5000 + to + 1);
    }
    trl_fst *fst;
    assert_int_equal(read_text(text, TRL_TROPICAL, NULL, &fst), 0);
    assert_int_equal(trl_fst_states(fst), 5000);
    for (int32_t s = 0; s < 5000; s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            assert_int_equal(a.ilabel - 1, s * 5000 + a.next);
        }
    trl_fst_destroy(fst);
}

static void names_are_looked_up_or_added(void **state)
{
    (void)state;
    trl_symbols *words, *states;
    trl_fst *fst;
    assert_int_equal(trl_symbols_create("words", &words, NULL), 0);
    assert_int_equal(trl_symbols_create("places", &states, NULL), 0);
    assert_int_equal(trl_symbols_add(words, "<eps>", 0, NULL), 0);
    assert_int_equal(trl_symbols_add(states, "here", 5, NULL), 0);
    assert_int_equal(trl_symbols_add(states, "there", 3, NULL), 0);
    trl_fst_text_options o = {.isymbols = words, .osymbols = words, .state_symbols = states, .keep_isymbols = 1};
    expect_error(read_text("here there <eps> a\n", TRL_LOG, &o, &fst), TRL_EFORMAT,
                 "t:1: \"a\" is not in the symbol table words");
    expect_error(read_text("here where <eps> a\n", TRL_LOG, &o, &fst), TRL_EFORMAT, "the state \"where\" is not in");
    o.add_symbols = 1;
    assert_int_equal(read_text("here there <eps> a\nthere here b a 3\nthere\n", TRL_LOG, &o, &fst), 0);
    expect_arc(fst, 0, 0, 0, 1, 0, 0, 1);
    expect_arc(fst, 1, 0, 2, 1, 3, 0, 0);
    assert_ptr_equal(trl_fst_input_symbols(fst), words);
    assert_null(trl_fst_output_symbols(fst));
    trl_symbols_destroy(words); /* the machine's share is left */
    trl_fst_text_options p = {.state_symbols = states, .missing_symbol = "?"};
    assert_int_equal(trl_fst_write_text(fst, temp_path("p"), &p, &err), 0);
    temp_expect("p", "?\t?\t<eps>\t1\n?\t?\tb\t1\t3\n?\n", 24);
    p.missing_symbol = NULL;
    expect_error(trl_fst_write_text(fst, temp_path("p"), &p, &err), TRL_EINVAL,
                 "0 has no name in the symbol table places");
    trl_symbols_destroy(states);
    trl_fst_destroy(fst);
}

static void wrong_text_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int acceptor, semiring, code;
        const char *error;
    } wrong[] = {
        {"0 1 1\n", 0, TRL_TROPICAL, TRL_EFORMAT, "t:1: three fields"},
        {"0\n0 1 1 1 1 1\n", 0, TRL_TROPICAL, TRL_EFORMAT, "t:2: too many fields"},
        {"0 1 1 1 1\n", 1, TRL_TROPICAL, TRL_EFORMAT, "t:1: too many fields"},
        {"\n\n0 1 -1 1\n", 0, TRL_TROPICAL, TRL_EFORMAT, "t:3: the label \"-1\" is not a number from 0"},
        {"0 1 2147483648 1\n", 0, TRL_TROPICAL, TRL_ELIMIT, "t:1: the label 2147483648 is beyond"},
        {"0 1 1 18446744073709551617\n", 0, TRL_TROPICAL, TRL_ELIMIT, "t:1: the label 18446744073709551617 is beyond"},
        {"4294967296 1 1 1\n", 0, TRL_TROPICAL, TRL_ELIMIT, "t:1: the state 4294967296 is beyond"},
        {"0 1 a 1\n", 0, TRL_TROPICAL, TRL_EFORMAT, "names need a symbol table"},
        {"0 1 1 1 x\n", 0, TRL_TROPICAL, TRL_EFORMAT, "t:1: \"x\" is not a weight of the tropical semiring"},
        {"0 nan\n", 0, TRL_LOG, TRL_EFORMAT, "\"nan\" is not a weight"},
        {"0 -Infinity\n", 0, TRL_LOG, TRL_EFORMAT, "\"-Infinity\" is not a weight"},
        {"0 1e39\n", 0, TRL_LOG, TRL_EFORMAT, "\"1e39\" is not a weight"},
        {"0 Infinity\n", 0, TRL_REAL, TRL_EFORMAT, "\"Infinity\" is not a weight of the real"},
        {"0 1\n", 0, TRL_LATTICE, TRL_EFORMAT, "two numbers with a comma"},
        {"0 1,Infinity\n", 0, TRL_LATTICE, TRL_EFORMAT, "\"1,Infinity\" is not a weight of the lattice"},
        {"0 1,2,3\n", 0, TRL_LATTICE, TRL_EFORMAT, "\"1,2,3\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        trl_fst_text_options o = {.acceptor = wrong[i].acceptor};
        trl_fst *fst;
        expect_error(read_text(wrong[i].text, (trl_semiring)wrong[i].semiring, &o, &fst), wrong[i].code,
                     wrong[i].error);
        assert_null(fst);
    }
    trl_fst_text_options keep = {.keep_state_numbering = 1};
    trl_fst *fst;
    expect_error(read_text("2147483647\n", TRL_LOG, &keep, &fst), TRL_ELIMIT,
                 "t:1: state 2147483647 leaves too many numbers");
}

/* Digits as printf's. */
static void weights_are_written_as_printf_would(void **state)
{
    (void)state;
    random_source r = {11};
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (random_below(&r, 1u << 16) << 16) | random_below(&r, 1u << 16);
        float value;
        if (i % 3 == 0)
            value = (float)(int32_t)bits / (float)(1 << random_below(&r, 30));
        else if (i % 3 == 1)
            value = (float)random_below(&r, 200000) / 8 - 2000.5f; /* ties */
        else
            memcpy(&value, &bits, sizeof value);
        int digits = 1 + (int)random_below(&r, 9);
        char ours[64], theirs[64];
        if (isnan(value) || isinf(value))
            continue;
        trl__format_digits(value, digits, ours);
        snprintf(theirs, sizeof theirs, "%.*g", digits, (double)value);
        assert_string_equal(ours, theirs);
    }
    char text[64];
    trl_weight w;
    trl_weight_format(TRL_LATTICE, (trl_weight){0.1f, -INFINITY}, text);
    assert_string_equal(text, "0.100000001,-Infinity");
    assert_int_equal(trl_weight_parse(TRL_TROPICAL, "Infinity", &w), 0);
    assert_true(isinf(w.value));
}

/* Numbers as strtod reads them. */
static void numbers_are_read_as_strtod_would(void **state)
{
    (void)state;
    random_source r = {12};
    for (int i = 0; i < 300000; i++) {
        char text[64];
        double value = 0, expected;
        int length = 0, point = (int)random_below(&r, 20), digits = 1 + (int)random_below(&r, 20);
        text[length++] = "-+ "[random_below(&r, 2)];
        for (int k = 0; k < digits; k++) {
            if (k == point)
                text[length++] = '.';
            text[length++] = (char)('0' + random_below(&r, 10));
        }
        if (random_chance(&r, 0.4))
            length += snprintf(text + length, 10, "e%d", (int)random_below(&r, 60) - 30);
        text[length] = '\0';
        expected = strtod(text, NULL);
        assert_int_equal(trl__parse_double(text, &value), 0);
        assert_memory_equal(&value, &expected, sizeof value);
    }
}

/* ---- Symbol tables ---- */

static int read_symbols(const char *bytes, size_t size, trl_symbols **symbols)
{
    trl__source source;
    assert_int_equal(trl__source_from_memory("s", bytes, size, &source, NULL), 0);
    int code = trl__symbols_read(&source, symbols, &err);
    trl__source_close(&source);
    return code;
}

static void tables_are_read_and_refused(void **state)
{
    (void)state;
    trl_symbols *symbols;
    static const char text[] = "\xEF\xBB\xBF<eps> 0\r\n\na\t2147483647\n  the   17  ";
    assert_int_equal(read_symbols(text, sizeof text - 1, &symbols), 0);
    assert_int_equal(trl_symbols_count(symbols), 3);
    assert_int_equal(trl_symbols_find(symbols, "a"), 2147483647);
    assert_string_equal(trl_symbols_name(symbols, 17), "the");
    assert_int_equal(trl_symbols_write(symbols, temp_path("table"), &err), 0);
    temp_expect("table", "<eps>\t0\na\t2147483647\nthe\t17\n", 28);
    trl_symbols_destroy(symbols);
    static const char binary[] = "t\xFB\xB2\x7E\4\0\0\0name\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0x\1\0\0\0\0\0\0\0";
    assert_int_equal(read_symbols(binary, sizeof binary - 1, &symbols), 0);
    assert_string_equal(trl_symbols_title(symbols), "name");
    assert_int_equal(trl_symbols_find(symbols, "x"), 1);
    trl_symbols_destroy(symbols);
    for (size_t size = 4; size < sizeof binary - 1; size++)
        expect_error(read_symbols(binary, size, &symbols), TRL_ECORRUPT, "the file is cut off");
#define REFUSE(text, error) expect_error(read_symbols(text, sizeof(text) - 1, &symbols), TRL_EFORMAT, error)
    REFUSE("a 1\nb\n", "s:2: expected a name and a whole number");
    REFUSE("a 1 2\n", "s:1: expected");
    REFUSE("a b\n", "s:1: expected");
    REFUSE("a -1\n", "s:1: the label -1");
    REFUSE("a 2147483648\n", "s:1: the label 2147483648");
    REFUSE("a 1\na 2\n", "s:2: \"a\" has the label 1");
    REFUSE("a 1\nb 1\n", "s:2: the label 1 of \"b\" belongs to \"a\"");
    REFUSE("a\0b 1\n", "s:1: a NUL");
}

/* ---- Kinds of files ---- */

static void write_packed(const char *name, const char *bytes, size_t size)
{
    gzFile file = gzopen(temp_path(name), "wb");
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void the_kind_is_seen_from_the_content(void **state)
{
    (void)state;
    trl_fst *fst;
    static const char text[] = "0 1 2 3 0.5\n1\n", arpa[] = "\\data\\\nngram 1=1\n\\1-grams:\n0 </s>\n\\end\\\n";
    write_packed("text.gz", text, sizeof text - 1);
    assert_int_equal(trl_fst_read(temp_path("text.gz"), &fst, &err), 0);
    expect_arc(fst, 0, 0, 2, 3, 0.5f, 0, 1);
    assert_int_equal(trl_fst_write(fst, temp_path("binary"), TRL_FST_CONST, &err), 0);
    trl_fst_destroy(fst);
    assert_int_equal(trl_fst_read(temp_path("binary"), &fst, &err), 0);
    expect_arc(fst, 0, 0, 2, 3, 0.5f, 0, 1);
    trl_fst_destroy(fst);
    temp_write("lm", arpa, sizeof arpa - 1);
    assert_int_equal(trl_fst_read(temp_path("lm"), &fst, &err), 0);
    assert_true(trl_fst_final(fst, trl_fst_start(fst)).value == 0);
    trl_fst_destroy(fst);
    temp_write("empty", "", 0);
    expect_error(trl_fst_read(temp_path("empty"), &fst, &err), TRL_EFORMAT, "nothing is in it");
    temp_write("big", "\x7E\xB2\xFD\xD6\0\0\0\6vector", 14);
    expect_error(trl_fst_read(temp_path("big"), &fst, &err), TRL_EUNSUPPORTED, "another byte order");
    expect_error(trl_fst_read(temp_path("no"), &fst, &err), TRL_ENOENT, "can't open");
    write_packed("cut.gz", text, sizeof text - 1);
    assert_int_equal(truncate(temp_path("cut.gz"), 20), 0);
    expect_error(trl_fst_read(temp_path("cut.gz"), &fst, &err), TRL_ECORRUPT, "the gzip data ends too early");
}

/* ---- Binary ---- */

/* A vector file of two states and an arc between them. */
static const unsigned char vector_file[] =
    "\xD6\xFD\xB2\x7E\6\0\0\0vector\x08\0\0\0standard\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\x80\x7F\1\0\0\0\0\0\0\0\5\0\0\0\7\0\0\0\0\0\0\x3F\1\0\0\0"
    "\0\0\0\x40\0\0\0\0\0\0\0\0";
enum { STATES_AT = 26 + 24, ARC_AT = 26 + 40 + 12 };

static int read_binary(const unsigned char *bytes, size_t size, trl_fst **fst)
{
    trl__source source;
    assert_int_equal(trl__source_from_memory("b", bytes, size, &source, NULL), 0);
    int code = trl__fst_read(&source, NULL, fst, &err);
    trl__source_close(&source);
    return code;
}

static void refuse_changed(size_t at, const void *with, size_t size, int code, const char *text)
{
    unsigned char bytes[sizeof vector_file - 1];
    trl_fst *fst;
    memcpy(bytes, vector_file, sizeof bytes);
    memcpy(bytes + at, with, size);
    expect_error(read_binary(bytes, sizeof bytes, &fst), code, text);
    assert_null(fst);
}

static void binary_files_mean_what_they_say(void **state)
{
    (void)state;
    trl_fst *fst;
    unsigned char bytes[sizeof vector_file + 4];
    size_t size = sizeof vector_file - 1;
    for (int uncounted = 0; uncounted < 2; uncounted++) {
        memcpy(bytes, vector_file, size);
        if (uncounted)
            memset(bytes + STATES_AT, 0xFF, 8);
        assert_int_equal(read_binary(bytes, size, &fst), 0);
        assert_int_equal(trl_fst_states(fst), 2);
        expect_arc(fst, 0, 0, 5, 7, 0.5f, 0, 1);
        assert_true(trl_fst_final(fst, 1).value == 2 && isinf(trl_fst_final(fst, 0).value));
        trl_fst_destroy(fst);
    }
    for (size_t cut = 4; cut < size; cut++) {
        assert_int_equal(read_binary(vector_file, cut, &fst), TRL_ECORRUPT);
        assert_null(fst);
    }
    memcpy(bytes, vector_file, size);
    bytes[size] = 0;
    expect_error(read_binary(bytes, size + 1, &fst), TRL_ECORRUPT, "bytes follow");
    memset(bytes + STATES_AT, 0xFF, 8);
    bytes[ARC_AT + 12] = 2;
    expect_error(read_binary(bytes, size, &fst), TRL_ECORRUPT, "leads to state 2 of 2");
    bytes[ARC_AT + 12] = 1;
    bytes[STATES_AT - 8] = 2;
    expect_error(read_binary(bytes, size, &fst), TRL_ECORRUPT, "the start is state 2 of 2");
}

static void damaged_binary_files_are_refused_with_the_byte(void **state)
{
    (void)state;
    refuse_changed(8, "compac", 6, TRL_EUNSUPPORTED, "a machine of type \"compac\"");
    refuse_changed(18, "log64\0\0", 2, TRL_EUNSUPPORTED, "arcs of type \"loandard\"");
    refuse_changed(8, "ve\0tor", 6, TRL_ECORRUPT, "a NUL in a string");
    refuse_changed(4, "\xFF\xFF\xFF\xFF", 4, TRL_ECORRUPT, "a string of 4294967295 bytes");
    refuse_changed(26, "\3", 1, TRL_EUNSUPPORTED, "version 3");
    refuse_changed(STATES_AT - 8, "\2", 1, TRL_ECORRUPT, "the header tells of 2 states");
    refuse_changed(STATES_AT, "\0\0\0\x80", 4, TRL_ELIMIT, "2147483648 states");
    refuse_changed(STATES_AT, "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, TRL_ECORRUPT, "the header tells of -2 states");
    refuse_changed(STATES_AT, "\3", 1, TRL_ECORRUPT, "only 0");
    refuse_changed(ARC_AT - 8, "\xFF\xFF\xFF\xFF\1", 5, TRL_ECORRUPT, "is said to have 8589934591 arcs");
    refuse_changed(ARC_AT - 8, "\xFF\xFF\xFF\xFF", 4, TRL_ECORRUPT, "more bytes should follow");
    refuse_changed(ARC_AT, "\0\0\0\x80", 4, TRL_EFORMAT,
                   "b: at byte 78: an arc of state 0 has the labels -2147483648:7");
    refuse_changed(ARC_AT + 4, "\xFF\xFF\xFF\xFF", 4, TRL_EFORMAT, "the labels 5:-1");
    refuse_changed(ARC_AT + 8, "\0\0\xC0\x7F", 4, TRL_ENUMBER, "b: at byte 78: the weight nan");
    refuse_changed(ARC_AT + 12, "\2", 1, TRL_ECORRUPT, "b: at byte 78: an arc of state 0 leads to state 2");
    refuse_changed(ARC_AT + 12, "\xFF\xFF\xFF\xFF", 4, TRL_ECORRUPT, "leads to state -1");
    refuse_changed(ARC_AT - 12, "\0\0\x80\xFF", 4, TRL_ENUMBER, "the final weight -inf of state 0");
}

/* ---- Memory ---- */

static int read_and_write(const char *path, trl_fst **fst)
{
    trl_fst *again = NULL;
    int code = trl_fst_read(path, fst, &err);
    if (code == 0)
        code = trl_fst_write(*fst, temp_path("copy"), TRL_FST_CONST, &err);
    if (code == 0)
        code = trl_fst_write_text(*fst, temp_path("copy.txt"), NULL, &err);
    if (code == 0)
        code = trl_fst_draw(*fst, temp_path("copy.dot"), NULL, &err);
    if (code == 0)
        code = trl_fst_read(temp_path("copy"), &again, &err);
    trl_fst_destroy(again);
    return code;
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    static const char *const texts[] = {"0 1 2 3 0.5\n1000000000 0 1 1\n1\n",
                                        "\\data\\\nngram 1=3\nngram 2=2\n\\1-grams:\n-1 a -0.5\n-1 b\n-1 "
                                        "</s>\n\\2-grams:\n-1 a b\n-1 b </s>\n\\end\\\n"};
    for (size_t t = 0; t < 2; t++) {
        int failures = 0, code = TRL_ENOMEM;
        temp_write("input", texts[t], strlen(texts[t]));
        for (long n = 1; code != 0 && n < 400; n++) {
            trl_fst *fst = NULL;
            trl__memory_fail_after(n);
            code = read_and_write(temp_path("input"), &fst);
            trl__memory_fail_after(0);
            trl_fst_destroy(fst);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
        }
        assert_int_equal(code, 0);
        assert_true(failures > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_numbered_as_they_appear),
        cmocka_unit_test(numbers_of_states_may_be_anything),
        cmocka_unit_test(names_are_looked_up_or_added),
        cmocka_unit_test(wrong_text_is_refused_with_its_line),
        cmocka_unit_test(weights_are_written_as_printf_would),
        cmocka_unit_test(numbers_are_read_as_strtod_would),
        cmocka_unit_test(tables_are_read_and_refused),
        cmocka_unit_test(the_kind_is_seen_from_the_content),
        cmocka_unit_test(binary_files_mean_what_they_say),
        cmocka_unit_test(damaged_binary_files_are_refused_with_the_byte),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
