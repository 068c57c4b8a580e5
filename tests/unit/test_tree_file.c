/* Model files with a tree and mixtures for a first pass: read as written, and no damage or nonsense goes unseen. */
#include "small_tree.h"
#include "damage_fixture.h"

static trl_error err;

static const char *const sections[] = {"model",     "frontend",    "lexicon",         "provenance",  "history",
                                       "units",     "unit_kinds",  "unit_topologies", "topologies",  "arcs",
                                       "triples",   "transitions", "first_gaussian",  "log_weights", "means",
                                       "variances", "tree",        "tree_roots",      "tree_nodes",  "set_names",
                                       "sets",      "indep_first", "indep_weights",   "indep_means", "indep_variances"};
#define SECTIONS (sizeof sections / sizeof *sections)

static void write_example(const char *name)
{
    trl_model *m = small_adapted_model();
    assert_int_equal(trl_model_write(m, temp_path(name), &err), 0);
    trl_model_destroy(m);
}

static uint32_t version_of(const char *name)
{
    size_t size;
    unsigned char *bytes = temp_read(name, &size);
    uint32_t version = trl__le32(bytes + 32);
    free(bytes);
    return version;
}

static void reads_what_was_written(void **state)
{
    (void)state;
    trl_model *m, *wrote = small_adapted_model();
    assert_int_equal(trl_model_write(wrote, temp_path("m"), &err), 0);
    assert_int_equal(version_of("m"), 2);
    assert_int_equal(trl_model_read(temp_path("m"), &m, &err), 0);
    assert_int_equal(m->tree->nodes, 18);
    assert_string_equal(m->tree->sets.names.texts[0], "Phone");
    assert_int_equal(trl_model_find_tied(m, (int32_t[]){B, B, AA}, 2), 14);
    trl_tree_facts facts = trl_model_tree(m);
    assert_int_equal(facts.width, 3);
    assert_int_equal(facts.centre, 1);
    assert_int_equal(facts.roots, 12);
    assert_int_equal(facts.questions, 3);
    assert_int_equal(facts.sets, 3);
    assert_int_equal(facts.depth, 2);
    trl_model first_pass = trl__model_first_pass(m);
    assert_true(trl_model_first_pass_gaussians(m) == trl_model_gaussians(&first_pass));
    assert_memory_equal(first_pass.mean, wrote->independent.mean,
                        (size_t)trl_model_gaussians(&first_pass) * 2 * sizeof(float));
    assert_null(first_pass.independent.mean);
    trl_model again = trl__model_first_pass(&first_pass); /* nothing to replace */
    assert_ptr_equal(again.mean, first_pass.mean);
    trl_model_destroy(wrote);
    trl_model_destroy(m);
}

/* Without the one or the other, or both. */
static void parts_come_alone(void **state)
{
    (void)state;
    trl_model *m = small_adapted_model(), *read;
    trl__model_set_independent(m, NULL, NULL, NULL, NULL);
    assert_int_equal(trl_model_write(m, temp_path("m"), &err), 0);
    assert_int_equal(version_of("m"), 2);
    assert_int_equal(trl_model_read(temp_path("m"), &read, &err), 0);
    assert_true(read->tree && !read->independent.mean && trl_model_first_pass_gaussians(read) == 0);
    trl_model_destroy(read);
    trl_model_destroy(m);
    m = model_of("A AA B\n", 2, NULL);
    assert_int_equal(trl_model_write(m, temp_path("m"), &err), 0);
    assert_int_equal(version_of("m"), 1);
    trl_model *other;
    assert_int_equal(trl__model_copy(m, &other, &err), 0);
    trl__model_set_independent(m, other->first_gaussian, other->log_weight, other->mean, other->variance);
    other->first_gaussian = NULL;
    other->log_weight = other->mean = other->variance = NULL;
    trl_model_destroy(other);
    assert_int_equal(trl_model_write(m, temp_path("m"), &err), 0);
    assert_int_equal(version_of("m"), 2);
    assert_int_equal(trl_model_read(temp_path("m"), &read, &err), 0);
    assert_true(!read->tree && read->independent.mean && trl_model_first_pass_gaussians(read) == 12);
    assert_int_equal(trl_model_tree(read).width, 1);
    assert_int_equal(trl_model_find_tied(read, (int32_t[]){B}, 1), 10);
    assert_int_equal(trl_model_find_tied(read, (int32_t[]){B}, 3), -1);
    trl_model_destroy(read);
    trl_model_destroy(m);
}

/* ---- damage ---- */

static int from_memory(const unsigned char *bytes, size_t size)
{
    trl__container *file;
    trl_model *m;
    int code = trl__container_from_memory("bytes", bytes, size, "model", 2, &file, &err);
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

/* Every number replaced by others, with checksums put right: refused, or a model that can be used. */
static void survives_any_number(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, 2, 5, 0xffffffff, 0x7fffffff, 0x80000000};
    size_t size, accepted = 0, refused = 0;
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
            if (trl__container_from_memory("bytes", changed, size, "model", 2, &file, &err) == 0)
                trl__model_from_container(file, &m, &err);
            for (int32_t u = 0; m && u < SMALL_UNITS; u++)
                for (int32_t s = 0; s < 3; s++) {
                    int32_t tied = trl_model_find_tied(m, (int32_t[]){u, u, -1}, s);
                    assert_true(!m->tree || trl__model_find_triple(m, u, s, tied) >= 0);
                }
            *(m ? &accepted : &refused) += 1;
            trl_model_destroy(m);
            free(changed);
        }
    assert_true(accepted > 100 && refused > 100);
    free(bytes);
}

static void refuse_section(const char *section, const void *bytes, uint64_t size, const char *text)
{
    trl_model *m;
    write_example("original");
    replace_section(temp_path("original"), temp_path("v"), "model", 2, sections, SECTIONS, section, bytes, size);
    err.text[0] = '\0';
    int got = trl_model_read(temp_path("v"), &m, &err);
    if (got != TRL_ECORRUPT || m || !strstr(err.text, text))
        fail_msg("%s: %d, no '%s' in '%s'", section, got, text, err.text);
}

#define SECTION(name, text, type, ...)                       \
    do {                                                     \
        const type content[] = {__VA_ARGS__};                \
        refuse_section(name, content, sizeof content, text); \
    } while (0)

static void refuses_wrong_sections(void **state)
{
    (void)state;
    for (size_t i = 16; i < SECTIONS; i++) {
        char text[64];
        snprintf(text, sizeof text, "section '%s' is missing", sections[i]);
        refuse_section(sections[i], NULL, 0, text);
    }
    SECTION("model", "impossible numbers", int32_t, 2, 0, 0x3f000000, 0); /* version 2 is for what has parts */
    SECTION("model", "impossible numbers", int32_t, 2, 0, 0x3f000000, 4);
    SECTION("tree", "wrong size", int32_t, 3, 1, 0, 15);
    SECTION("tree", "wrong size", int32_t, 3, 1, 3, 15, 3, 1, 3, 15);
    SECTION("tree", "roots of the tree", int32_t, 3, 1, 4, 15);
    SECTION("tree", "its tied state does not exist", int32_t, 3, 1, 3, 14);
    SECTION("tree_nodes", "no nodes", int32_t, );
    SECTION("set_names", "no name, or another's", char, 'P', 0, 'E', 0);
    SECTION("set_names", "no name, or another's", char, 'P', 0, 'P', 0, 'A', 0);
    SECTION("set_names", "more names of sets than sets", char, 'P', 0, 'E', 0, 'A', 0, 'B', 0);
    SECTION("set_names", "no line of UTF-8", char, 'P', 0, 0, 'A', 0);
    SECTION("set_names", "no line of UTF-8", char, 'P', 0, 'E', '\n', 0, 'A', 0);
    SECTION("sets", "two sets of units are the same", uint64_t, 12, 16, 12);
    SECTION("sets", "units that do not exist", uint64_t, 12, 16, 32);
    trl_model *m = small_adapted_model();
    SECTION("indep_first", "other tied states", int32_t, 0, (int32_t)trl_model_first_pass_gaussians(m));
    trl_model_destroy(m);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_model *m = NULL, *copy = NULL;
    write_example("m");
    for (long n = 1; !m; n++) {
        trl__memory_fail_after(n);
        int code = trl_model_read(temp_path("m"), &m, &err);
        trl__memory_fail_after(0);
        assert_int_equal(code, m ? 0 : TRL_ENOMEM);
    }
    for (long n = 1; !copy; n++) {
        trl__memory_fail_after(n);
        int code = trl__model_copy(m, &copy, &err);
        trl__memory_fail_after(0);
        assert_int_equal(code, copy ? 0 : TRL_ENOMEM);
    }
    trl_model_destroy(m);
    trl_model_destroy(copy);
}

/* ---- what makes a model ---- */

static void refuse_model(trl_model *m, const char *text)
{
    err.text[0] = '\0';
    int code = trl__model_finish(m, "model", &err);
    if (code != TRL_ECORRUPT || !strstr(err.text, text))
        fail_msg("%d, no '%s' in '%s'", code, text, err.text);
    trl_model_destroy(m);
}

#define REFUSE(change, text)               \
    do {                                   \
        trl_model *m = small_tree_model(); \
        change;                            \
        refuse_model(m, text);             \
    } while (0)

/* A second arc from the entry. */
static void make_skippable(trl_model *m)
{
    trl__topology *old = &m->topology[m->unit_topology[AA]], new;
    int32_t arcs = old->first[old->states + 1];
    assert_int_equal(trl__topology_alloc(&new, old->states, arcs + 1, NULL), 0);
    memcpy(new.arcs + 1, old->arcs, (size_t)arcs * sizeof *old->arcs);
    new.arcs[0] = (trl__arc){TRL_EXIT, 0.5F};
    new.arcs[1].probability = 0.5F;
    for (int32_t i = 1; i < old->states + 2; i++)
        new.first[i] = old->first[i] + 1;
    trl__topology_free(old);
    *old = new;
}

/* Triples and tree must say the same. */
static void refuses_trees_of_other_models(void **state)
{
    (void)state;
    trl_model *right = small_tree_model();
    assert_int_equal(trl__model_finish(right, "right", &err), 0);
    trl_model_destroy(right);
    REFUSE(m->triple[7].tied = 13, "unit AA, state 0: its triples"); /* 12 is the tree's */
    REFUSE(m->triple[14].tied = 12, "out of order");
    REFUSE(m->tree->node[6].value = 13, "no leaf for tied state 14");
    REFUSE((m->tree->node[2].value = 14, m->tree->node[6].value = 12), "unit AA, state 0: its triples");
    REFUSE(make_skippable(m), "unit AA can be skipped");
    REFUSE((m->tree->node[6].value = 13, m->tree->leaves = 14), "of another model");
    REFUSE(m->independent.first_gaussian = trl__alloc_zero(SMALL_TIED + 1, sizeof(int32_t)),
           "mixtures of the first pass: tied state 0 has no Gaussian");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),          cmocka_unit_test(parts_come_alone),
        cmocka_unit_test(sees_every_flipped_byte_and_cut), cmocka_unit_test(survives_any_number),
        cmocka_unit_test(refuses_wrong_sections),          cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(refuses_trees_of_other_models),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
