/* Kaldi's own models of AN4: read, they say what Kaldi's tools print of them; written again, they are the same files,
 * but for the last bits of the Gaussians, which Kaldi keeps as 1 / variance and mean / variance. */
#include "foreign_model.h"
#include "base/text_file.h"
#include "feat/kaldi_matrix.h"
#include "model/kaldi_alignment.h"
#include "model/kaldi_model.h"

#include <sys/stat.h>

static char golden[512];
static trl_error err;

static const char *golden_path(const char *name)
{
    static char paths[4][640];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", golden, name);
    return path;
}

static int set_up(void **state)
{
    const char *shared = getenv("TRELLIS_SHARED");
    snprintf(golden, sizeof golden, "%s/golden/kaldi", shared ? shared : "/nonexistent");
    return temp_folder_make(state);
}

static trl_model *read_model(const char *mdl, const char *phones)
{
    struct stat status;
    trl_model *model = NULL;
    if (stat(golden, &status) != 0) {
        print_message("skipped: there is no %s\n", golden);
        skip();
    }
    if (trl_model_read_kaldi(golden_path(mdl), phones ? golden_path(phones) : NULL, &model, &err) < 0)
        fail_msg("%s", err.text);
    return model;
}

/* Where the text is, from `place` on. */
static const char *find(const char *place, const char *end, const char *text)
{
    size_t length = strlen(text);
    for (; (size_t)(end - place) >= length; place++)
        if (memcmp(place, text, length) == 0)
            return place;
    fail_msg("there is no %s", text);
    return NULL;
}

/* ---- Binary ---- */

static float float_at(const char *bytes)
{
    float value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Walks along both files; only numbers inside of <DiagGMM> may differ, and by no more than that: a relative error of
 * `most`, or for constants, which are sums, an absolute one. Returns how many numbers were not the same. */
static size_t compare_binary(const char *ours, const char *theirs, size_t size, double most)
{
    size_t i = (size_t)(find(theirs, theirs + size, "<DIMENSION>") - theirs), different = 0;
    assert_memory_equal(ours, theirs, i);
    while (i < size) {
        int matrix = size - i > 14 && memcmp(theirs + i, "FM \4", 4) == 0 && theirs[i + 8] == 4;
        int vector = size - i > 8 && memcmp(theirs + i, "FV \4", 4) == 0;
        if (!matrix && !vector) {
            assert_int_equal(ours[i], theirs[i]);
            i++;
            continue;
        }
        size_t head = matrix ? 13 : 8;
        int32_t rows = 1, cols;
        assert_memory_equal(ours + i, theirs + i, head);
        if (matrix)
            memcpy(&rows, theirs + i + 4, 4);
        memcpy(&cols, theirs + i + head - 4, 4);
        int constants = memcmp(theirs + i - 10, "<GCONSTS>", 9) == 0;
        i += head;
        for (int32_t n = 0; n < rows * cols; n++, i += 4) {
            double x = (double)float_at(ours + i), y = (double)float_at(theirs + i);
            different += x != y;
            if (fabs(x - y) > (constants ? 1e-4 : most * fabs(y)))
                fail_msg("byte %zu: %.9g instead of %.9g", i, x, y);
        }
    }
    return different;
}

static void compare_model(const char *folder)
{
    char mdl[64];
    size_t size, golden_size;
    snprintf(mdl, sizeof mdl, "%s/final.mdl", folder);
    trl_model *model = read_model(mdl, NULL);
    assert_int_equal(trl__kaldi_model_write(model, temp_path("final.mdl"), 1, &err), 0);
    char *ours = temp_read("final.mdl", &size), *theirs = file_bytes(golden_path(mdl), &golden_size);
    assert_int_equal(size, golden_size);
    size_t different = compare_binary(ours, theirs, size, 5e-7);
    print_message("%s: %zu numbers differ in their last bits\n", folder, different);
    free(ours);
    free(theirs);
    trl_model_destroy(model);
}

static void monophones_come_back(void **state)
{
    (void)state;
    compare_model("an4-mono");
}

static void triphones_come_back(void **state)
{
    (void)state;
    compare_model("an4-tri1");
}

/* ---- Text ---- */

/* Word by word: the same words, and numbers within the seven digits that Kaldi writes. */
static void text_comes_back(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", NULL);
    assert_int_equal(trl__kaldi_model_write(model, temp_path("text.mdl"), 0, &err), 0);
    trl_model_destroy(model);
    size_t size, golden_size, words = 0;
    char *ours = temp_read("text.mdl", &size),
         *theirs = file_bytes(golden_path("an4-mono/final.mdl.txt"), &golden_size);
    ours[size] = theirs[golden_size] = '\0';
    char *x_next = NULL, *y_next = NULL, *x = strtok_r(ours, " \n", &x_next), *y = strtok_r(theirs, " \n", &y_next);
    for (; x && y; words++) {
        double a, b;
        if (trl__parse_double(x, &a) == 0 && trl__parse_double(y, &b) == 0) {
            if (fabs(a - b) > 2e-6 * fabs(b))
                fail_msg("word %zu: %s instead of %s", words, x, y);
        } else if (strcmp(x, y) != 0) {
            fail_msg("word %zu: %s instead of %s", words, x, y);
        }
        x = strtok_r(NULL, " \n", &x_next);
        y = strtok_r(NULL, " \n", &y_next);
    }
    assert_true(!x && !y && words > 80000);
    free(ours);
    free(theirs);
}

/* Kaldi's text of the same model has seven digits; all else is the same. */
static void text_is_the_same_model(void **state)
{
    (void)state;
    trl_model *binary = read_model("an4-mono/final.mdl", "an4-mono/phones.txt");
    trl_model *text = read_model("an4-mono/final.mdl.txt", "an4-mono/phones.txt");
    assert_same_structure(binary, text, 1);
    int64_t numbers = trl_model_gaussians(binary) * binary->dim;
    for (int64_t i = 0; i < numbers; i++) {
        assert_true(fabs((double)(binary->variance[i] - text->variance[i])) <= 1e-6 * (double)binary->variance[i]);
        assert_true(fabs((double)(binary->mean[i] - text->mean[i])) <= 2e-6 * fabs((double)binary->mean[i]));
    }
    trl_model_destroy(binary);
    trl_model_destroy(text);
}

/* ---- Constants, tree, phones ---- */

/* From Kaldi's own numbers our formula gives Kaldi's own constant. */
static void constants_are_kaldis(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", NULL);
    trl__source source;
    trl_matrix constants = {0}, weights = {0}, means = {0}, inverses = {0};
    size_t size;
    char *bytes = file_bytes(golden_path("an4-mono/final.mdl"), &size);
    const char *place = bytes;
    for (int32_t j = 0; j < model->tied_states; j++) {
        place = find(place, bytes + size, "<GCONSTS> ");
        assert_int_equal(trl__source_from_memory("gmm", place + 10, size - (size_t)(place - bytes) - 10, &source, &err),
                         0);
        trl__kaldi_in in = {&source, 1, &err};
        assert_int_equal(trl__kaldi_matrix(&in, &constants), 0);
        assert_int_equal(trl__kaldi_expect(&in, "<WEIGHTS>"), 0);
        assert_int_equal(trl__kaldi_matrix(&in, &weights), 0);
        assert_int_equal(trl__kaldi_expect(&in, "<MEANS_INVVARS>"), 0);
        assert_int_equal(trl__kaldi_matrix(&in, &means), 0);
        assert_int_equal(trl__kaldi_expect(&in, "<INV_VARS>"), 0);
        assert_int_equal(trl__kaldi_matrix(&in, &inverses), 0);
        for (size_t c = 0; c < weights.cols; c++) {
            float ours =
                trl__kaldi_constant(weights.data[c], trl_matrix_row(&means, c), trl_matrix_row(&inverses, c), 39);
            assert_true(fabs((double)(ours - constants.data[c])) <= 1e-6 * fabs((double)constants.data[c]));
        }
        trl__source_close(&source);
        place++;
    }
    trl_matrix_free(&constants);
    trl_matrix_free(&weights);
    trl_matrix_free(&means);
    trl_matrix_free(&inverses);
    free(bytes);
    trl_model_destroy(model);
}

static void tree_is_kaldis(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", "an4-mono/phones.txt");
    assert_int_equal(trl_model_write_kaldi(model, temp_path("folder"), 1, &err), 0);
    size_t size;
    char *theirs = file_bytes(golden_path("an4-mono/tree"), &size);
    temp_expect("folder/tree", theirs, size);
    free(theirs);
    trl_model *again;
    assert_int_equal(trl_model_read_kaldi(temp_path("folder/final.mdl"), temp_path("folder/phones.txt"), &again, &err),
                     0);
    assert_same_structure(model, again, 1);
    trl_model_destroy(again);
    trl_model_destroy(model);
}

static trl_model *read_without_tree(const char *mdl)
{
    trl__source source;
    trl_model *model;
    assert_int_equal(trl__source_open(golden_path(mdl), &source, &err), 0);
    assert_int_equal(trl__kaldi_model_read(&source, NULL, NULL, NULL, &model, &err), 0);
    trl__source_close(&source);
    return model;
}

/* Without its tree, a model with context is good for looking at only. HTK can't say what a tree says. */
static void context_without_tree_is_refused(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-tri1/final.mdl", "an4-tri1/phones.txt"), *alone;
    assert_non_null(model->tree);
    assert_int_equal(trl_model_write_htk(model, temp_path("tri.mmf"), 0, &err), TRL_EUNSUPPORTED);
    trl_model_destroy(model);
    alone = read_without_tree("an4-tri1/final.mdl");
    assert_null(alone->tree);
    assert_int_equal(trl_model_find_tied(alone, (int32_t[]){40}, 0), -1);
    assert_int_equal(trl_model_write_kaldi(alone, temp_path("tri"), 1, &err), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "context"));
    trl_model_destroy(alone);
}

/* Every leaf is there; each state's tied states are the triples that Kaldi made of them (trl__model_finish saw to it,
 * here once more by windows); and written and read again, every window has the same tied state. */
static void tree_comes_back(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-tri1/final.mdl", "an4-tri1/phones.txt"), *again;
    assert_int_equal(trl_model_write_kaldi(model, temp_path("tri"), 1, &err), 0);
    assert_int_equal(trl_model_read_kaldi(temp_path("tri/final.mdl"), temp_path("tri/phones.txt"), &again, &err), 0);
    assert_same_structure(model, again, 1);
    int32_t units = trl_model_units(model), window[3];
    uint8_t seen[480] = {0}, *used = calloc((size_t)model->triples, 1);
    assert_int_equal(model->tied_states, 480);
    assert_int_equal(model->tree->width, 3);
    for (window[1] = 0; window[1] < units; window[1]++)
        for (int32_t s = 0; s < trl_model_unit(model, window[1]).states; s++)
            for (window[0] = -1; window[0] < units; window[0]++)
                for (window[2] = -1; window[2] < units; window[2]++) {
                    int32_t tied = trl__tree_find(model->tree, window, s);
                    int32_t triple = trl__model_find_triple(model, window[1], s, tied);
                    assert_true(tied == trl__tree_find(again->tree, window, s) && triple >= 0);
                    seen[tied] = used[triple] = 1;
                }
    assert_null(memchr(seen, 0, sizeof seen));
    for (int32_t id = 1; id <= model->transitions; id++) {
        trl_transition t = trl_model_transition(model, id);
        assert_int_equal(trl__model_find_triple(model, t.unit, t.state, t.tied), model->transition_triple[id]);
    }
    size_t unused = 0;
    for (int32_t i = 0; i < model->triples; i++)
        unused += !used[i];
    print_message("%d triples, %zu of them without a window\n", model->triples, unused);
    free(used);
    trl_model_destroy(again);
    trl_model_destroy(model);
}

static void names_say_what_units_are(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", "an4-mono/phones.txt");
    assert_int_equal(trl_model_units(model), 137);
    assert_int_equal(trl_model_find_unit(model, "Z_S"), 136);
    assert_int_equal(trl_model_unit(model, 0).kind, TRL_UNIT_SILENCE);
    assert_int_equal(trl_model_unit(model, 1).kind, TRL_UNIT_SILENCE);
    assert_int_equal(trl_model_unit(model, 136).kind, TRL_UNIT_PHONE);
    assert_int_equal(trl_model_unit(model, 0).states, 5);
    assert_int_equal(model->word_positions, 1);
    trl_model_destroy(model);
    model = read_model("an4-mono/final.mdl", NULL);
    assert_string_equal(trl_model_unit(model, 136).name, "phone137");
    assert_int_equal(trl_model_unit(model, 0).kind, TRL_UNIT_PHONE);
    trl_model_destroy(model);
}

/* ---- Transitions ---- */

/* The number behind this text in the line, or `otherwise`. */
static double number_after(const char *line, const char *text, double otherwise)
{
    const char *place = strstr(line, text);
    return place ? strtod(place + strlen(text), NULL) : otherwise;
}

/* show-transitions: "Transition-id = 3 p = 0.196297 … [0 -> 2]" below "Transition-state 1: phone = SIL hmm-state = 0
 * pdf = 0". */
static void transitions_are_kaldis(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", "an4-mono/phones.txt");
    FILE *file = fopen(golden_path("an4-mono/transitions_head.txt"), "r");
    assert_non_null(file);
    char line[256], phone[64] = "";
    double hmm_state = -1, pdf = -1;
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        const char *name = strstr(line, "phone = ");
        if (name) {
            snprintf(phone, sizeof phone, "%.*s", (int)strcspn(name + 8, " "), name + 8);
            hmm_state = number_after(line, "hmm-state = ", -1);
            pdf = number_after(line, "pdf = ", -1);
        }
        int id = (int)number_after(line, "Transition-id = ", 0);
        if (id == 0)
            continue;
        trl_transition t = trl_model_transition(model, id);
        int to = (int)number_after(line, "-> ", hmm_state); /* without: [self-loop] */
        assert_string_equal(trl_model_unit(model, t.unit).name, phone);
        assert_int_equal(t.state, (int)hmm_state);
        assert_int_equal(t.tied, (int)pdf);
        assert_int_equal(t.to, to == trl_model_unit(model, t.unit).states ? TRL_EXIT : to);
        assert_true(fabs(exp((double)t.log_probability) - number_after(line, " p = ", 0)) < 1e-5);
        count++;
    }
    fclose(file);
    assert_true(count > 10);
    trl_model_destroy(model);
}

/* The next line: "utterance 1 start length phone". */
static void expect_phone(FILE *ctm, const char *id, size_t begin, size_t end, int32_t unit)
{
    char line[256], *cursor = line;
    double start, length;
    int64_t phone;
    assert_non_null(fgets(line, sizeof line, ctm));
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(trl__next_field(&cursor), id);
    assert_string_equal(trl__next_field(&cursor), "1");
    assert_int_equal(trl__parse_double(trl__next_field(&cursor), &start), 0);
    assert_int_equal(trl__parse_double(trl__next_field(&cursor), &length), 0);
    assert_int_equal(trl__parse_int(trl__next_field(&cursor), &phone), 0);
    assert_int_equal(phone, unit + 1);
    assert_true(fabs(start - 0.01 * (double)begin) < 1e-6 && fabs(length - 0.01 * (double)(end - begin)) < 1e-6);
}

/* Goes along the frames, and from phone to phone: one ends with the way out of its last state, behind which Kaldi
 * puts the self-loops of that state. */
static void expect_phones(const trl_model *model, const char *id, const int32_t *ids, size_t frames, FILE *ctm)
{
    for (size_t f = 0, begin = 0, left = 0; f < frames; f++) {
        trl_transition t = trl_model_transition(model, ids[f]);
        trl_transition next = trl_model_transition(model, ids[f + 1 < frames ? f + 1 : f]);
        int loop = f + 1 < frames && next.unit == t.unit && next.state == t.state && next.to == t.state;
        left = left || t.to == TRL_EXIT;
        if (!left || loop)
            continue;
        expect_phone(ctm, id, begin, f + 1, t.unit);
        left = 0;
        begin = f + 1;
    }
}

/* Kaldi's alignments as transition-ids give the pdf-ids that Kaldi gives, and its phones with their lengths. */
static void alignments_map_to_pdfs_and_phones(void **state)
{
    (void)state;
    trl_model *model = read_model("an4-mono/final.mdl", "an4-mono/phones.txt");
    trl__int_ark_reader *ids, *pdfs;
    assert_int_equal(trl__int_ark_open(golden_path("an4-mono/ali5_transition_ids.txt"), &ids, &err), 0);
    assert_int_equal(trl__int_ark_open(golden_path("an4-mono/ali5_pdfs.txt"), &pdfs, &err), 0);
    FILE *ctm = fopen(golden_path("an4-mono/ali5_phones.ctm"), "r");
    assert_non_null(ctm);
    const char *id, *other;
    const int32_t *transitions, *tied;
    size_t frames, count, utterances = 0;
    for (; trl__int_ark_next(ids, &id, &transitions, &frames, &err) == 1; utterances++) {
        assert_int_equal(trl__int_ark_next(pdfs, &other, &tied, &count, &err), 1);
        assert_string_equal(id, other);
        assert_int_equal(frames, count);
        for (size_t f = 0; f < frames; f++)
            assert_int_equal(trl_model_transition(model, transitions[f]).tied, tied[f]);
        expect_phones(model, id, transitions, frames, ctm);
    }
    assert_int_equal(utterances, 5);
    fclose(ctm);
    trl__int_ark_close(ids);
    trl__int_ark_close(pdfs);
    trl_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monophones_come_back),
        cmocka_unit_test(triphones_come_back),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(text_is_the_same_model),
        cmocka_unit_test(constants_are_kaldis),
        cmocka_unit_test(tree_is_kaldis),
        cmocka_unit_test(context_without_tree_is_refused),
        cmocka_unit_test(tree_comes_back),
        cmocka_unit_test(names_say_what_units_are),
        cmocka_unit_test(transitions_are_kaldis),
        cmocka_unit_test(alignments_map_to_pdfs_and_phones),
    };
    return cmocka_run_group_tests(tests, set_up, temp_folder_remove);
}
