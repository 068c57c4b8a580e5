/* Random model definitions of Sphinx: text and binary say the same, and the tree gives every window the tied states that Sphinx's rules
 * give, which are written down here as they are, without tables. */
#include "model_fixture.h"

#include "model/sphinx_model.h"

#define CASES 150
#define MOST_PHONES 7
#define MOST_TRIPHONES 120
#define STATES 2

typedef struct triphone {
    int base, left, right, place, senone[STATES];
} triphone;

typedef struct definition {
    int phones, fillers; /* the first so many; phone 0 is SIL where there is a filler */
    int triphones, senones;
    triphone triphone[MOST_TRIPHONES];
} definition;

static const char *const names[MOST_PHONES] = {"SIL", "+N+", "A", "B", "C", "D", "E"};
static const char places[] = "ibes";

/* Phones: tied states 2 p and 2 p + 1. The names are those behind the first where there is no filler. */
static definition random_definition(uint64_t seed)
{
    dice d = {seed, 0};
    definition m = {.fillers = roll(&d, 1, 2)};
    m.phones = m.fillers + roll(&d, 1, MOST_PHONES - 2);
    m.senones = STATES * m.phones;
    int wanted = roll(&d, 1, MOST_TRIPHONES);
    for (int i = 0; i < wanted; i++) {
        triphone t = {roll(&d, m.fillers, m.phones - 1),
                      roll(&d, 0, m.phones - 1),
                      roll(&d, 0, m.phones - 1),
                      roll(&d, 0, 3),
                      {0}};
        t.left = t.left < m.fillers ? 0 : t.left; /* contexts are silence, never another filler */
        t.right = t.right < m.fillers ? 0 : t.right;
        int there = 0;
        for (int j = 0; j < m.triphones; j++)
            there |= m.triphone[j].base == t.base && m.triphone[j].left == t.left && m.triphone[j].right == t.right &&
                     m.triphone[j].place == t.place;
        for (int s = 0; s < STATES; s++)
            t.senone[s] =
                m.triphones > 0 && roll(&d, 0, 1) ? m.triphone[roll(&d, 0, m.triphones - 1)].senone[s] : m.senones + s;
        int fresh = t.senone[0] == m.senones || t.senone[1] == m.senones + 1;
        if (there)
            continue;
        if (fresh) {
            t.senone[0] = m.senones;
            t.senone[1] = m.senones + 1;
            m.senones += STATES;
        }
        m.triphone[m.triphones++] = t;
    }
    return m;
}

static const char *name_of(const definition *m, int phone)
{
    return names[phone < m->fillers ? phone : phone - m->fillers + 2];
}

/* ---- Files ---- */

static size_t as_text(const definition *m, char *out, size_t size)
{
    size_t used = (size_t)snprintf(
        out, size,
        "# a remark\n0.3\n%d n_base\n%d n_tri\n%d n_state_map\n%d n_tied_state\n%d n_tied_ci_state\n"
        "%d n_tied_tmat\n#\n",
        m->phones, m->triphones, (m->phones + m->triphones) * (STATES + 1), m->senones, STATES * m->phones, m->phones);
    for (int p = 0; p < m->phones; p++)
        used += (size_t)snprintf(out + used, size - used, "%s - - - %s %d %d %d N\n", name_of(m, p),
                                 p < m->fillers ? "filler" : "n/a", p, STATES * p, STATES * p + 1);
    for (int i = 0; i < m->triphones; i++) {
        const triphone *t = &m->triphone[i];
        used += (size_t)snprintf(out + used, size - used, "%s %s %s %c n/a %d %d %d N\n", name_of(m, t->base),
                                 name_of(m, t->left), name_of(m, t->right), places[t->place], t->base, t->senone[0],
                                 t->senone[1]);
    }
    return used;
}

static void put(unsigned char **at, int big, int bytes, uint32_t value)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (unsigned char)(value >> 8 * (big ? bytes - 1 - i : i));
}

static size_t as_binary(const definition *m, int big, unsigned char *out)
{
    unsigned char *at = out;
    int all = m->phones + m->triphones;
    const uint32_t numbers[] = {(uint32_t)m->phones,
                                (uint32_t)all,
                                STATES,
                                (uint32_t)(STATES * m->phones),
                                (uint32_t)m->senones,
                                (uint32_t)m->phones,
                                (uint32_t)all,
                                3,
                                1,
                                0};
    memcpy(at, big ? "FDMB" : "BMDF", 4);
    at += 4;
    put(&at, big, 4, 1);
    put(&at, big, 4, 5);
    memcpy(at, "text", 5);
    at += 5;
    for (int i = 0; i < 10; i++)
        put(&at, big, 4, numbers[i]);
    unsigned char *first = at;
    for (int p = 0; p < m->phones; p++) {
        size_t length = strlen(name_of(m, p)) + 1;
        memcpy(at, name_of(m, p), length);
        at += length;
    }
    while ((at - first) % 4)
        *at++ = 0;
    put(&at, big, 4, 0); /* a tree of one node, which nobody looks at */
    put(&at, big, 4, 0);
    for (int i = 0; i < all; i++) {
        const triphone *t = &m->triphone[i < m->phones ? 0 : i - m->phones];
        put(&at, big, 4, (uint32_t)i);
        put(&at, big, 4, (uint32_t)(i < m->phones ? i : t->base));
        put(&at, big, 1, (uint32_t)(i < m->phones ? i < m->fillers : t->place));
        put(&at, big, 1, (uint32_t)(i < m->phones ? 0 : t->base));
        put(&at, big, 1, (uint32_t)(i < m->phones ? 0 : t->left));
        put(&at, big, 1, (uint32_t)(i < m->phones ? 0 : t->right));
    }
    put(&at, big, 4, (uint32_t)(all * STATES));
    for (int i = 0; i < all; i++)
        for (int s = 0; s < STATES; s++)
            put(&at, big, 2, (uint32_t)(i < m->phones ? STATES * i + s : m->triphone[i - m->phones].senone[s]));
    return (size_t)(at - out);
}

static trl__sphinx_mdef parse(const void *bytes, size_t size)
{
    trl__source source;
    trl_error err;
    trl__sphinx_mdef mdef;
    assert_int_equal(trl__source_from_memory("mdef", bytes, size, &source, &err), 0);
    if (trl__sphinx_mdef_read(&source, &mdef, &err) < 0)
        fail_msg("%s", err.text);
    trl__source_close(&source);
    return mdef;
}

static void assert_mdef(const trl__sphinx_mdef *found, const definition *m)
{
    assert_int_equal(found->names.count, m->phones);
    assert_int_equal(found->phones, m->phones + m->triphones);
    assert_int_equal(found->senones, m->senones);
    assert_int_equal(found->silence, 0);
    for (int i = 0; i < found->phones; i++) {
        const trl__sphinx_phone *p = &found->phone[i];
        const triphone *t = &m->triphone[i < m->phones ? 0 : i - m->phones];
        assert_int_equal(p->base, i < m->phones ? i : t->base);
        assert_int_equal(p->left, i < m->phones ? -1 : t->left);
        assert_int_equal(p->right, i < m->phones ? -1 : t->right);
        assert_int_equal(p->place, i < m->phones ? 0 : t->place);
        for (int s = 0; s < STATES; s++)
            assert_int_equal(found->senone[p->senones + s], i < m->phones ? STATES * i + s : t->senone[s]);
    }
}

static char text[1 << 16];
static unsigned char binary[1 << 16];

static void test_forms(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        definition m = random_definition(seed);
        trl__sphinx_mdef mdef = parse(text, as_text(&m, text, sizeof text));
        assert_mdef(&mdef, &m);
        trl__sphinx_mdef_free(&mdef);
        mdef = parse(binary, as_binary(&m, seed % 2 == 1, binary));
        assert_mdef(&mdef, &m);
        trl__sphinx_mdef_free(&mdef);
    }
}

/* ---- Sphinx's rules ---- */

static const triphone *look_up(const definition *m, int base, int left, int right, int place)
{
    left = left < m->fillers ? 0 : left;
    right = right < m->fillers ? 0 : right;
    for (int i = 0; i < m->triphones; i++)
        if (m->triphone[i].base == base && m->triphone[i].left == left && m->triphone[i].right == right &&
            m->triphone[i].place == place)
            return &m->triphone[i];
    return NULL;
}

static const triphone *look_everywhere(const definition *m, int base, int left, int right, int place)
{
    const triphone *found = look_up(m, base, left, right, place);
    for (int other = 0; !found && other < 4; other++)
        found = look_up(m, base, left, right, other);
    return found;
}

static int expected(const definition *m, int base, int left, int right, int place, int state)
{
    const triphone *t = NULL;
    if (base >= m->fillers && (left >= 0 || right >= 0)) {
        left = left < 0 ? 0 : left;
        right = right < 0 ? 0 : right;
        t = look_everywhere(m, base, left, right, place);
        if (!t)
            t = look_everywhere(m, base, strchr("bs", places[place]) ? 0 : left,
                                strchr("es", places[place]) ? 0 : right, place);
    }
    return t ? t->senone[state] : STATES * base + state;
}

/* The phone of a unit, and its place in the word. */
static int phone_of(const definition *m, const trl_model *model, int32_t unit, int *place)
{
    const char *name = model->units.texts[unit];
    size_t length = strlen(name);
    *place = 0;
    if (model->unit_kind[unit] == TRL_UNIT_PHONE) {
        *place = (int)(strchr("IBES", name[length - 1]) - "IBES");
        length -= 2;
    }
    for (int p = 0; p < m->phones; p++)
        if (strlen(name_of(m, p)) == length && strncmp(name, name_of(m, p), length) == 0)
            return p;
    fail_msg("unit %s", name);
    return -1;
}

static void check_windows(const definition *m, const trl_model *model)
{
    int32_t units = (int32_t)model->units.count;
    for (int32_t u = 0; u < units; u++)
        for (int32_t l = -1; l < units; l++)
            for (int32_t r = -1; r < units; r++)
                for (int s = 0; s < STATES; s++) {
                    int place, ignored, base = phone_of(m, model, u, &place);
                    int left = l < 0 ? -1 : phone_of(m, model, l, &ignored);
                    int right = r < 0 ? -1 : phone_of(m, model, r, &ignored);
                    const int32_t window[3] = {l, u, r};
                    assert_int_equal(trl__tree_find(model->tree, window, s), expected(m, base, left, right, place, s));
                }
}

static void test_contexts(void **state)
{
    (void)state;
    int good = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        definition m = random_definition(seed);
        trl_error err;
        trl_model *model;
        float matrix[MOST_PHONES * STATES * (STATES + 1)];
        for (int i = 0; i < m.phones * STATES * (STATES + 1); i++)
            matrix[i] = i % (STATES + 1) >= i / (STATES + 1) % STATES ? 0.25F : 0; /* upwards only */
        trl__sphinx_array transitions = {.value = matrix};
        trl__sphinx_mdef mdef = parse(text, as_text(&m, text, sizeof text));
        assert_int_equal(trl__model_new(1, &model, &err), 0);
        model->tied_states = m.senones;
        assert_int_equal(trl__sphinx_units(&mdef, &transitions, model, &err), 0);
        int code = trl__sphinx_contexts(&mdef, model, &err);
        if (code == 0) {
            assert_int_equal(trl__tree_check(model->tree, "tree", &err), 0);
            check_windows(&m, model);
            good++;
        } else if (code != TRL_EUNSUPPORTED) { /* a tied state that no window reaches */
            fail_msg("seed %d: %s", (int)seed, err.text);
        }
        trl__sphinx_mdef_free(&mdef);
        trl_model_destroy(model);
    }
    assert_true(good > CASES / 2);
}

/* ---- Every allocation fails once ---- */

static int make_model(const void *bytes, size_t size, trl_error *err)
{
    trl__source source;
    trl__sphinx_mdef mdef = {0};
    trl_model *model = NULL;
    float matrix[MOST_PHONES * STATES * (STATES + 1)];
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        matrix[i] = 0.5F;
    trl__sphinx_array transitions = {.value = matrix};
    int code = trl__source_from_memory("mdef", bytes, size, &source, err);
    if (code < 0)
        return code;
    code = trl__sphinx_mdef_read(&source, &mdef, err);
    if (code == 0)
        code = trl__model_new(1, &model, err);
    if (code == 0) {
        model->tied_states = mdef.senones;
        code = trl__sphinx_units(&mdef, &transitions, model, err);
    }
    if (code == 0)
        code = trl__sphinx_contexts(&mdef, model, err);
    trl__source_close(&source);
    trl__sphinx_mdef_free(&mdef);
    trl_model_destroy(model);
    return code;
}

static void test_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        definition m = random_definition(seed);
        size_t size = seed % 2 ? as_text(&m, text, sizeof text) : as_binary(&m, 0, binary);
        trl_error err;
        int code = TRL_ENOMEM;
        for (long n = 1; code == TRL_ENOMEM; n++) {
            trl__memory_fail_after(n);
            code = make_model(seed % 2 ? (const void *)text : binary, size, &err);
            trl__memory_fail_after(0);
        }
        assert_true(code == 0 || code == TRL_EUNSUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_contexts),
                                       cmocka_unit_test(test_memory)};
    return RUN(tests);
}
