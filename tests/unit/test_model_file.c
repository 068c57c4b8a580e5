/* The model file: the layout as documented, and no damage, nonsense or foreign file goes unseen. */
#include "model_fixture.h"
#include "damage_fixture.h"

static trl_error err;

static const char *const sections[] = {"model",          "frontend",    "lexicon",    "provenance",
                                       "history",        "units",       "unit_kinds", "unit_topologies",
                                       "topologies",     "arcs",        "triples",    "transitions",
                                       "first_gaussian", "log_weights", "means",      "variances"};
#define SECTIONS (sizeof sections / sizeof *sections)

/* SIL and SPN with 3 states, AA and B: 12 tied states, 24 transitions, 2 dimensions. */
static trl_model *example(void)
{
    trl_model *m = model_of("A AA B\n", 2, NULL);
    assert_int_equal(trl__model_set_text(&m->frontend, "preset = mfcc\n", &err), 0);
    assert_int_equal(trl__model_set_text(&m->provenance, "trellis 1", &err), 0);
    assert_int_equal(trl__model_set_text(&m->history, "{}\n", &err), 0);
    for (size_t i = 0; i < 24; i++)
        m->mean[i] = (float)i;
    return m;
}

static void write_example(const char *name)
{
    trl_model *m = example();
    assert_int_equal(trl_model_write(m, temp_path(name), &err), 0);
    trl_model_destroy(m);
}

static void check_example(const trl_model *m)
{
    assert_int_equal(trl_model_dim(m), 2);
    assert_int_equal(trl_model_units(m), 4);
    assert_string_equal(trl_model_unit(m, 3).name, "B");
    assert_int_equal(trl_model_unit(m, 0).kind, TRL_UNIT_SILENCE);
    assert_int_equal(trl_model_transitions(m), 24);
    assert_int_equal(trl_model_transition(m, 24).to, TRL_EXIT);
    assert_true(fabs((double)trl_model_transition(m, 24).log_probability - log(0.25)) < 1e-6);
    assert_int_equal(trl_model_gaussians(m), 12);
    assert_true(trl_model_gaussian(m, 11, 0).mean[1] == 23);
    assert_string_equal(trl_model_frontend(m), "preset = mfcc\n");
    assert_string_equal(trl_model_provenance(m), "trellis 1");
    assert_string_equal(trl_model_history(m), "{}\n");
    assert_non_null(strstr(trl_model_lexicon(m), "1 words"));
}

static void reads_what_was_written(void **state)
{
    (void)state;
    trl_model *m;
    write_example("m");
    assert_int_equal(trl_model_read(temp_path("m"), &m, &err), 0);
    check_example(m);
    assert_non_null(m->file); /* the mixtures lie in the mapping */
    assert_int_equal(trl__container_offset(m->file, m->mean) % 64, 0);
    trl_model_destroy(m);
}

/* A model that was read can be trained on: the mixtures leave the mapping. */
static void mapped_mixtures_can_be_replaced(void **state)
{
    (void)state;
    trl_model *m, *copy;
    write_example("m");
    assert_int_equal(trl_model_read(temp_path("m"), &m, &err), 0);
    assert_int_equal(trl__model_copy(m, &copy, &err), 0);
    assert_null(copy->file);
    trl__model_set_mixtures(m, copy->first_gaussian, copy->log_weight, copy->mean, copy->variance);
    copy->first_gaussian = NULL;
    copy->log_weight = copy->mean = copy->variance = NULL;
    trl_model_destroy(copy);
    assert_null(m->file);
    check_example(m);
    trl_model_destroy(m);
}

static void refuse_file(const char *name, int code, const char *text)
{
    trl_model *m;
    err.text[0] = '\0';
    int got = trl_model_read(temp_path(name), &m, &err);
    if (got != code || m || !strstr(err.text, text) || !strstr(err.text, name))
        fail_msg("%d instead of %d, no '%s' in '%s'", got, code, text, err.text);
}

static void write_kind(const char *name, const char *kind, uint32_t version)
{
    trl__container_writer *writer;
    assert_int_equal(trl__container_create(temp_path(name), kind, version, &writer, &err), 0);
    assert_int_equal(trl__container_commit(writer, &err), 0);
}

static void refuses_what_is_no_model(void **state)
{
    (void)state;
    refuse_file("absent", TRL_ENOENT, "can't open");
    temp_write("m", "~o <VecSize> 39", 15);
    refuse_file("m", TRL_EFORMAT, "not a trellis file of 'model'");
    temp_write("m", "", 0);
    refuse_file("m", TRL_EFORMAT, "not a trellis file");
    write_kind("m", "features", 1);
    refuse_file("m", TRL_EFORMAT, "holds 'features', not 'model'");
    write_kind("m", "model", 4);
    refuse_file("m", TRL_EUNSUPPORTED, "'model' version 4, this program knows up to 3; use a newer trellis");
    write_kind("m", "model", 1);
    refuse_file("m", TRL_ECORRUPT, "section 'model' is missing");
}

/* ---- damage ---- */

static int from_memory(const unsigned char *bytes, size_t size)
{
    trl__container *file;
    trl_model *m;
    int code = trl__container_from_memory("bytes", bytes, size, "model", 1, &file, &err);
    if (code == 0)
        code = trl__model_from_container(file, &m, &err);
    if (code == 0)
        trl_model_destroy(m);
    return code;
}

static void sees_every_flipped_byte_and_cut(void **state)
{
    (void)state;
    write_example("m");
    assert_damage_is_seen(temp_path("m"), from_memory);
}

static void refuse_section(const char *section, const void *bytes, uint64_t size, int code, const char *text)
{
    write_example("original");
    replace_section(temp_path("original"), temp_path("v"), "model", 1, sections, SECTIONS, section, bytes, size);
    refuse_file("v", code, text);
}

static void refuses_missing_sections(void **state)
{
    (void)state;
    for (size_t i = 0; i < SECTIONS; i++) {
        char text[64];
        snprintf(text, sizeof text, "section '%s' is missing", sections[i]);
        refuse_section(sections[i], NULL, 0, TRL_ECORRUPT, text);
    }
}

#define SECTION(name, code, text, type, ...)                       \
    do {                                                           \
        const type content[] = {__VA_ARGS__};                      \
        refuse_section(name, content, sizeof content, code, text); \
    } while (0)

static void refuses_wrong_headers_and_texts(void **state)
{
    (void)state;
    SECTION("model", TRL_ECORRUPT, "section 'model' has 12 bytes", int32_t, 2, 0, 0x3f000000);
    SECTION("model", TRL_ECORRUPT, "wrong size", int32_t, 2, 0, 0x3f000000, 0, 2, 0, 0x3f000000, 0);
    SECTION("model", TRL_ECORRUPT, "impossible numbers", int32_t, 0, 0, 0x3f000000, 0);
    SECTION("model", TRL_ECORRUPT, "impossible numbers", int32_t, 65537, 0, 0x3f000000, 0);
    SECTION("model", TRL_ECORRUPT, "impossible numbers", int32_t, 2, 2, 0x3f000000, 0);
    SECTION("model", TRL_ECORRUPT, "impossible numbers", int32_t, 2, 0, 0x3f000000, 1);
    SECTION("model", TRL_ECORRUPT, "probability of silence 0", int32_t, 2, 0, 0, 0);
    SECTION("model", TRL_ECORRUPT, "do not belong together", int32_t, 3, 0, 0x3f000000, 0);
    refuse_section("history", "a\0b", 3, TRL_ECORRUPT, "section 'history' is not valid UTF-8");
    refuse_section("lexicon", "\xff", 1, TRL_ECORRUPT, "section 'lexicon' is not valid UTF-8");
}

static void refuses_wrong_units_and_topologies(void **state)
{
    (void)state;
    refuse_section("units", "SIL\0SPN\0AA\0", 11, TRL_ECORRUPT, "fewer names of units than units");
    refuse_section("units", "SIL\0SPN\0AA\0B", 12, TRL_ECORRUPT, "fewer names of units than units");
    refuse_section("units", "SIL\0SPN\0AA\0B\0C\0", 15, TRL_ECORRUPT, "more names of units than units");
    refuse_section("units", "SIL\0SPN\0AA\0AA\0", 14, TRL_ECORRUPT, "two units have the same name");
    refuse_section("units", "SIL\0SPN\0AA\0\0", 12, TRL_ECORRUPT, "the name of unit 3 is empty");
    refuse_section("unit_kinds", "\1\2\0\0\0", 5, TRL_ECORRUPT, "units and their topologies differ in number");
    refuse_section("unit_kinds", "\1\2\0\7", 4, TRL_ECORRUPT, "unit B is of unknown kind 7");
    SECTION("unit_topologies", TRL_ECORRUPT, "unit B has topology 2 of 2", int32_t, 0, 0, 1, 2);
    refuse_section("unit_topologies", "123456789", 9, TRL_ECORRUPT, "section 'unit_topologies' has 9 bytes");
    SECTION("topologies", TRL_ECORRUPT, "impossible number of states", int32_t, 0);
    SECTION("topologies", TRL_ECORRUPT, "impossible number of states", int32_t, 2147483647, 1, 2);
    SECTION("topologies", TRL_ECORRUPT, "impossible number of arcs", int32_t, 3, 1, 2, -2, 2);
    SECTION("topologies", TRL_ECORRUPT, "impossible number of arcs", int32_t, 3, 1, 2, 2147483647, 2147483647);
    SECTION("topologies", TRL_ECORRUPT, "arcs that belong to no topology", int32_t, 3, 1, 2, 2, 2);
    SECTION("topologies", TRL_ECORRUPT, "state 1: no arc leaves it", int32_t, 3, 1, 2, 0, 4, 3, 1, 2, 2, 2);
    SECTION("arcs", TRL_ECORRUPT, "impossible number of arcs", int32_t, 0, 0x3f800000);
}

static void refuses_wrong_transitions_and_mixtures(void **state)
{
    (void)state;
    float numbers[30];
    int32_t firsts[13];
    for (int i = 0; i < 30; i++)
        numbers[i] = -0.6931472f;
    for (int i = 0; i < 13; i++)
        firsts[i] = i;
    SECTION("triples", TRL_ECORRUPT, "the last unit's states have no triples", int32_t, 0, 0, 0, 0);
    SECTION("triples", TRL_ECORRUPT, "section 'triples' has 12 bytes", int32_t, 0, 0, 0);
    refuse_section("transitions", numbers, 23 * sizeof *numbers, TRL_ECORRUPT,
                   "23 log probabilities for 24 transitions");
    refuse_section("transitions", numbers, 25 * sizeof *numbers, TRL_ECORRUPT,
                   "25 log probabilities for 24 transitions");
    numbers[3] = NAN;
    refuse_section("transitions", numbers, 24 * sizeof *numbers, TRL_ENUMBER, "transition 4 is not finite");
    refuse_section("variances", numbers, 24 * sizeof *numbers, TRL_ECORRUPT, "variance -0.6");
    refuse_section("means", numbers, 24 * sizeof *numbers, TRL_ENUMBER, "tied state 1, component 0, dimension 1");
    refuse_section("means", numbers, 23 * sizeof *numbers, TRL_ECORRUPT, "do not belong together");
    refuse_section("variances", numbers, 26 * sizeof *numbers, TRL_ECORRUPT, "do not belong together");
    refuse_section("log_weights", numbers, 11 * sizeof *numbers, TRL_ECORRUPT, "do not belong together");
    refuse_section("log_weights", numbers, 12 * sizeof *numbers, TRL_ECORRUPT,
                   "tied state 0: the weights sum up to 0.5");
    refuse_section("first_gaussian", firsts, sizeof *firsts, TRL_ECORRUPT, "do not belong together");
    refuse_section("first_gaussian", firsts, 12 * sizeof *firsts, TRL_ECORRUPT, "do not belong together");
    firsts[5] = 9;
    refuse_section("first_gaussian", firsts, sizeof firsts, TRL_ECORRUPT, "tied state 5 has no Gaussian");
    firsts[0] = -1;
    refuse_section("first_gaussian", firsts, sizeof firsts, TRL_ECORRUPT, "no first Gaussian");
}

/* A later version may add sections that change nothing for those who don't know them. */
static void passes_over_unknown_sections(void **state)
{
    (void)state;
    trl__container *file;
    trl__container_writer *writer;
    trl_model *m;
    write_example("original");
    assert_int_equal(trl__container_open(temp_path("original"), "model", 1, &file, &err), 0);
    assert_int_equal(trl__container_create(temp_path("more"), "model", 1, &writer, &err), 0);
    assert_int_equal(trl__container_add(writer, "later", "abc", 3, &err), 0);
    for (size_t i = 0; i < SECTIONS; i++) {
        const void *bytes;
        uint64_t size;
        assert_int_equal(trl__container_section(file, sections[i], &bytes, &size, &err), 0);
        assert_int_equal(trl__container_add(writer, sections[i], bytes, size, &err), 0);
    }
    assert_int_equal(trl__container_commit(writer, &err), 0);
    trl__container_close(file);
    assert_int_equal(trl_model_read(temp_path("more"), &m, &err), 0);
    check_example(m);
    trl_model_destroy(m);
}

/* Every number of the file replaced by others, with checksums put right: refused, or a model that writes those bytes. */
static void survives_any_number(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, 2, 0xffffffff, 0x7fffffff, 0x80000000, 0x7fc00000, 0x7f800000, 0x3f800000};
    size_t size, accepted = 0, again_size;
    write_example("m");
    unsigned char *bytes = temp_read("m", &size);
    for (size_t at = 64; at + 4 <= size; at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            unsigned char *changed = malloc(size);
            memcpy(changed, bytes, size);
            memcpy(changed + at, &values[v], 4);
            container_repair(changed, size);
            trl__container *file;
            trl_model *m = NULL;
            if (trl__container_from_memory("bytes", changed, size, "model", 1, &file, &err) == 0)
                trl__model_from_container(file, &m, &err);
            if (m && accepted++ % 16 == 0) {
                assert_int_equal(trl_model_write(m, temp_path("again"), &err), 0);
                unsigned char *again = temp_read("again", &again_size);
                assert_int_equal(again_size, size);
                assert_memory_equal(again, changed, size);
                free(again);
            }
            trl_model_destroy(m);
            free(changed);
        }
    assert_true(accepted > 100);
    free(bytes);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_model *m = NULL;
    int failures = 0;
    write_example("m");
    for (long n = 1; !m; n++) {
        trl__memory_fail_after(n);
        int code = trl_model_read(temp_path("m"), &m, &err);
        trl__memory_fail_after(0);
        assert_true(m ? code == 0 : code == TRL_ENOMEM);
        failures += !m;
    }
    assert_true(failures > 15);
    int code = TRL_ENOMEM;
    for (long n = 1; code < 0; n++) {
        trl__memory_fail_after(n);
        code = trl_model_write(m, temp_path("m2"), &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_int_equal(access(temp_path("m2"), F_OK) == 0, code == 0);
    }
    trl_model_destroy(m);
}

static void says_when_it_can_not_write(void **state)
{
    (void)state;
    trl_model *m = example();
    assert_int_equal(trl_model_write(m, temp_path("none/m"), &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "none/m"));
    assert_true(trl_model_write(m, "/dev/full", &err) < 0);
    trl_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(mapped_mixtures_can_be_replaced),
        cmocka_unit_test(refuses_what_is_no_model),
        cmocka_unit_test(sees_every_flipped_byte_and_cut),
        cmocka_unit_test(refuses_missing_sections),
        cmocka_unit_test(refuses_wrong_headers_and_texts),
        cmocka_unit_test(refuses_wrong_units_and_topologies),
        cmocka_unit_test(refuses_wrong_transitions_and_mixtures),
        cmocka_unit_test(passes_over_unknown_sections),
        cmocka_unit_test(survives_any_number),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(says_when_it_can_not_write),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
