/* Random grammars, and the probabilities of all short strings by the definition: those of a part from those of what it is made
 * of, of what repeats or contains itself by repetition until nothing changes. The machine must give each string the sum of its
 * derivations (read in the log semiring) and the best of them (tropical). Lists and loops by arithmetic. */
#include "grammar_fixture.h"

#include "fst_fixture.h"
#include "temp_folder.h"

#include <trellis/fst_file.h>
#include <trellis/fst_structure.h>

#define CASES 600
#define RULES 3
#define WORDS 3
#define STRINGS 40 /* up to three words: 1 + 3 + 9 + 27 */
#define LONGEST_STRING 3
#define ROUNDS 200

/* ---- Strings and their probabilities ---- */

static const char *const words[WORDS] = {"alpha", "beta", "gamma"};

typedef struct short_string {
    int word[LONGEST_STRING], length;
} short_string;

static short_string strings[STRINGS];

static int number_of(const short_string *s)
{
    int number = 0;
    for (int i = 0; i < s->length; i++)
        number = number * WORDS + s->word[i] + 1;
    return number;
}

static void list_strings(void)
{
    for (int number = 0; number < STRINGS; number++) {
        short_string *s = &strings[number];
        int left = number, reversed[LONGEST_STRING];
        for (s->length = 0; left > 0; left = (left - 1) / WORDS)
            reversed[s->length++] = (left - 1) % WORDS;
        for (int i = 0; i < s->length; i++)
            s->word[i] = reversed[s->length - 1 - i];
        assert_int_equal(number_of(s), number);
    }
}

/* Of each string: the sum of all derivations, or the best one. */
typedef struct chances {
    double sum[STRINGS], best[STRINGS];
} chances;

static void add_chances(chances *to, const chances *from, double weight)
{
    for (int i = 0; i < STRINGS; i++) {
        to->sum[i] += weight * from->sum[i];
        to->best[i] = fmax(to->best[i], weight * from->best[i]);
    }
}

static chances joined(const chances *a, const chances *b)
{
    chances out = {{0}, {0}};
    for (int i = 0; i < STRINGS; i++)
        for (int j = 0; j < STRINGS; j++) {
            short_string s = strings[i];
            if (s.length + strings[j].length > LONGEST_STRING)
                continue;
            for (int k = 0; k < strings[j].length; k++)
                s.word[s.length++] = strings[j].word[k];
            int at = number_of(&s);
            out.sum[at] += a->sum[i] * b->sum[j];
            out.best[at] = fmax(out.best[at], a->best[i] * b->best[j]);
        }
    return out;
}

static chances only(int string)
{
    chances out = {{0}, {0}};
    out.sum[string] = out.best[string] = 1;
    return out;
}

/* ---- Grammars ---- */

typedef enum part_kind { P_WORD, P_RULE, P_SEQUENCE, P_CHOICE, P_OPTIONAL, P_STAR, P_PLUS, P_NULL, P_VOID } part_kind;

typedef struct part {
    part_kind kind;
    int value, count;
    int child[4];
    double weight[4]; /* of alternatives; negative: none is written */
} part;

typedef struct random_grammar {
    part parts[400];
    int count;
    int rule[RULES], rules;
    chances of_rule[RULES];
} random_grammar;

static int new_part(random_grammar *g, part_kind kind, int value)
{
    assert_true(g->count < 400);
    g->parts[g->count] = (part){.kind = kind, .value = value};
    return g->count++;
}

static int random_choice(random_grammar *g, int rule, int depth, int tail, random_source *r);

/* `tail`: nothing follows it in its rule, so that it may be the rule itself. Other rules have higher numbers. */
static int random_item(random_grammar *g, int rule, int depth, int tail, random_source *r)
{
    static const part_kind wrappers[] = {P_OPTIONAL, P_STAR, P_PLUS};
    uint32_t what = random_below(r, depth > 0 ? 12 : 8);
    if (what < 5)
        return new_part(g, P_WORD, (int)random_below(r, WORDS));
    if (what == 5)
        return new_part(g, random_chance(r, 0.8) ? P_NULL : P_VOID, 0);
    if (what < 8) {
        int lowest = tail ? rule : rule + 1;
        return lowest < g->rules ? new_part(g, P_RULE, lowest + (int)random_below(r, (uint32_t)(g->rules - lowest)))
                                 : new_part(g, P_WORD, 0);
    }
    if (what == 8)
        return random_choice(g, rule, depth - 1, tail, r);
    part_kind kind = wrappers[what - 9];
    int at = new_part(g, kind, 0);
    int child = random_choice(g, rule, depth - 1, tail && kind == P_OPTIONAL, r);
    g->parts[at].child[g->parts[at].count++] = child;
    return at;
}

static int random_choice(random_grammar *g, int rule, int depth, int tail, random_source *r)
{
    int at = new_part(g, P_CHOICE, 0), alternatives = 1 + (int)random_below(r, 3);
    for (int i = 0; i < alternatives; i++) {
        int sequence = new_part(g, P_SEQUENCE, 0), items = 1 + (int)random_below(r, 2);
        for (int k = 0; k < items; k++) {
            int item = random_item(g, rule, depth, tail && k == items - 1, r);
            g->parts[sequence].child[g->parts[sequence].count++] = item;
        }
        g->parts[at].child[i] = sequence;
        g->parts[at].weight[i] = random_chance(r, 0.5) ? -1 : i == 0 ? 1.5 : random_below(r, 9) / 4.0;
        g->parts[at].count++;
    }
    return at;
}

static void make_grammar(random_grammar *g, random_source *r)
{
    g->count = 0;
    g->rules = 1 + (int)random_below(r, RULES);
    for (int i = 0; i < g->rules; i++)
        g->rule[i] = random_choice(g, i, 2, 1, r);
}

/* ---- What it means ---- */

static chances meaning_of_part(const random_grammar *g, int at)
{
    const part *p = &g->parts[at];
    chances out = {{0}, {0}}, nothing = only(0), inner, again;
    double all = 0;
    switch (p->kind) {
    case P_WORD: return only(p->value + 1);
    case P_RULE: return g->of_rule[p->value];
    case P_NULL: return nothing;
    case P_VOID: return out;
    case P_SEQUENCE:
        out = nothing;
        for (int i = 0; i < p->count; i++) {
            inner = meaning_of_part(g, p->child[i]);
            out = joined(&out, &inner);
        }
        return out;
    case P_CHOICE:
        for (int i = 0; i < p->count; i++)
            all += p->weight[i] < 0 ? 1 : p->weight[i];
        for (int i = 0; i < p->count; i++) {
            inner = meaning_of_part(g, p->child[i]);
            add_chances(&out, &inner, (p->weight[i] < 0 ? 1 : p->weight[i]) / all);
        }
        return out;
    case P_OPTIONAL:
        inner = meaning_of_part(g, p->child[0]);
        add_chances(&out, &nothing, 0.5);
        add_chances(&out, &inner, 0.5);
        return out;
    default: /* none or more; one or more: that behind one */
        inner = meaning_of_part(g, p->child[0]);
        for (int round = 0; round < 60; round++) {
            again = joined(&inner, &out);
            out = (chances){{0}, {0}};
            add_chances(&out, &nothing, 0.5);
            add_chances(&out, &again, 0.5);
        }
        return p->kind == P_STAR ? out : joined(&inner, &out);
    }
}

/* The last rule first, since the others may contain it. */
static void find_meaning(random_grammar *g)
{
    memset(g->of_rule, 0, sizeof g->of_rule);
    for (int i = g->rules - 1; i >= 0; i--)
        for (int round = 0, moved = 1; moved && round < ROUNDS; round++) {
            chances now = meaning_of_part(g, g->rule[i]);
            moved = 0;
            for (int s = 0; s < STRINGS; s++)
                moved |= fabs(now.sum[s] - g->of_rule[i].sum[s]) > 1e-12 || now.best[s] != g->of_rule[i].best[s];
            g->of_rule[i] = now;
        }
}

/* ---- How it is written ---- */

typedef struct writer {
    char text[65536];
    size_t used;
    random_source *r;
} writer;

static void put(writer *w, const char *text)
{
    static const char *const between[] = {" ", "\n\t", " // ; |\n", " /* <x> */ ", "\r\n"};
    w->used += (size_t)sprintf(w->text + w->used, "%s%s", text,
                               random_chance(w->r, 0.9) ? " " : between[random_below(w->r, 5)]);
}

static void put_part(writer *w, const random_grammar *g, int at);

static void put_alternatives(writer *w, const random_grammar *g, int at)
{
    const part *p = &g->parts[at];
    for (int i = 0; i < p->count; i++) {
        char weight[32];
        if (i > 0)
            put(w, "|");
        sprintf(weight, "/%g/", p->weight[i]);
        if (p->weight[i] >= 0)
            put(w, weight);
        put_part(w, g, p->child[i]);
    }
}

static void put_part(writer *w, const random_grammar *g, int at)
{
    const part *p = &g->parts[at];
    char text[32];
    switch (p->kind) {
    case P_WORD:
        sprintf(text, random_chance(w->r, 0.2) ? "\"%s\"" : "%s", words[p->value]);
        put(w, text);
        break;
    case P_RULE:
        sprintf(text, random_chance(w->r, 0.2) ? "<test.r%d>" : "<r%d>", p->value);
        put(w, text);
        break;
    case P_NULL:
    case P_VOID: put(w, p->kind == P_NULL ? "<NULL>" : "<VOID>"); break;
    case P_SEQUENCE:
        for (int i = 0; i < p->count; i++)
            put_part(w, g, p->child[i]);
        return;
    case P_CHOICE:
    case P_OPTIONAL:
    case P_STAR:
    case P_PLUS:
        put(w, p->kind == P_OPTIONAL ? "[" : "(");
        put_alternatives(w, g, p->kind == P_CHOICE ? at : p->child[0]);
        put(w, p->kind == P_OPTIONAL ? "]" : ")");
        if (p->kind == P_STAR || p->kind == P_PLUS)
            put(w, p->kind == P_STAR ? "*" : "+");
        break;
    }
    if (random_chance(w->r, 0.1))
        put(w, "{tag \\} ; }");
}

static const char *write_grammar(writer *w, const random_grammar *g)
{
    w->used = 0;
    put(w, "#JSGF V1.0 UTF-8 en;");
    put(w, "grammar org.example.test;");
    for (int i = g->rules - 1; i >= 0; i--) {
        char head[32];
        sprintf(head, "%s<r%d> =", i == 0 ? "public " : "", i);
        put(w, head);
        put_alternatives(w, g, g->rule[i]);
        put(w, ";");
    }
    return w->text;
}

/* ---- Checks ---- */

static double machine_chance(const trl_fst *fst, const short_string *s)
{
    pair p = {.nx = s->length, .any_output = 1};
    for (int i = 0; i < s->length; i++)
        p.x[i] = (int32_t)trl_symbols_find(trl_fst_input_symbols(fst), words[s->word[i]]);
    return exp(-meaning_of(fst, &p).value);
}

static void check_machine(const trl_fst *fst, const double *expected, const char *text, const char *what)
{
    for (int i = 0; i < STRINGS; i++) {
        double p = machine_chance(fst, &strings[i]);
        if (!nearly_equal(p, expected[i], 1e-5)) {
            print_machine(fst);
            fail_msg("string %d: %s is %g, should be %g\n%s", i, what, p, expected[i], text);
        }
    }
}

static void check_tables(const trl_fst *fst)
{
    uint32_t properties;
    assert_int_equal(trl_fst_verify(fst, NULL), 0);
    assert_int_equal(trl_fst_properties(fst, &properties, NULL), 0);
    uint32_t wanted = TRL_FST_ACCEPTOR | TRL_FST_ISORTED | TRL_FST_ACCESSIBLE | TRL_FST_COACCESSIBLE;
    assert_int_equal(properties & wanted, wanted);
}

static void grammars_mean_what_they_say(void **state)
{
    (void)state;
    static random_grammar g;
    static writer w;
    random_source r = {1};
    int nothing = 0;
    w.r = &r;
    for (int i = 0; i < CASES; i++) {
        trl_fst *fst;
        trl_error err;
        make_grammar(&g, &r);
        find_meaning(&g);
        const char *text = write_grammar(&w, &g);
        int code = try_jsgf(text, random_chance(&r, 0.5) ? NULL : "<r0>", NULL, &fst, &err);
        if (code < 0) {
            for (int s = 0; s < STRINGS; s++)
                assert_true(g.of_rule[0].sum[s] == 0);
            if (!strstr(err.text, "no sentence"))
                fail_msg("%s\n%s", err.text, text);
            nothing++;
            continue;
        }
        check_tables(fst);
        check_machine(fst, g.of_rule[0].best, text, "the best");
        assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_TO_LOG}, NULL), 0);
        check_machine(fst, g.of_rule[0].sum, text, "the sum");
        trl_fst_destroy(fst);
    }
    assert_true(nothing < CASES / 3);
}

/* Written as text and as a binary file, and read again. */
static void machines_survive_files(void **state)
{
    (void)state;
    static random_grammar g;
    static writer w;
    random_source r = {2};
    w.r = &r;
    for (int i = 0; i < 20; i++) {
        trl_fst *fst, *back, *compiled;
        trl_error err;
        make_grammar(&g, &r);
        if (try_jsgf(write_grammar(&w, &g), NULL, NULL, &fst, &err) < 0)
            continue;
        trl_symbols *table = trl_symbols_share((trl_symbols *)(uintptr_t)trl_fst_input_symbols(fst));
        trl_fst_text_options options = {.acceptor = 1, .isymbols = table, .keep_isymbols = 1};
        assert_int_equal(trl_fst_write(fst, temp_path("binary"), TRL_FST_VECTOR, &err), 0);
        assert_int_equal(trl_fst_read(temp_path("binary"), &back, &err), 0);
        assert_int_equal(trl_fst_write_text(fst, temp_path("text"), &options, &err), 0);
        assert_int_equal(trl_fst_read_text(temp_path("text"), TRL_TROPICAL, &options, &compiled, &err), 0);
        for (int s = 0; s < STRINGS; s++) {
            double p = machine_chance(fst, &strings[s]);
            assert_true(nearly_equal(p, machine_chance(back, &strings[s]), 1e-6));
            assert_true(nearly_equal(p, machine_chance(compiled, &strings[s]), 1e-5));
        }
        trl_symbols_destroy(table);
        trl_fst_destroy(fst);
        trl_fst_destroy(back);
        trl_fst_destroy(compiled);
    }
}

/* Phrases of one to three words with weights, some more than once; and a loop of them, as the star of the list. */
static void lists_and_loops(void **state)
{
    (void)state;
    random_source r = {3};
    for (int i = 0; i < 100; i++) {
        chances list = {{0}, {0}}, loop = {{0}, {0}}, more;
        char text[4096];
        size_t used = 0;
        double all = 0, end = random_chance(&r, 0.5) ? 1 : 0.5;
        for (uint32_t lines = 1 + random_below(&r, 8); lines > 0; lines--) {
            int s = 1 + (int)random_below(&r, STRINGS - 1), plain = random_chance(&r, 0.5);
            double weight = plain ? 1 : 0.25 * random_below(&r, 8) + (all == 0);
            used += (size_t)(plain ? sprintf(text + used, "\n") : sprintf(text + used, "\n /%g/", weight));
            for (int k = 0; k < strings[s].length; k++)
                used += (size_t)sprintf(text + used, " %s", words[strings[s].word[k]]);
            list.sum[s] += weight;
            all += weight;
        }
        sprintf(text + used, "\n/%g/ </s>", end);
        trl_fst *fst;
        trl_error err;
        temp_write("phrases", text, used);
        assert_int_equal(trl_grammar_read_list(temp_path("phrases"), NULL, &fst, &err), 0);
        chances share = {{0}, {0}};
        for (int s = 0; s < STRINGS; s++)
            share.sum[s] = list.sum[s] / all;
        uint32_t properties;
        assert_int_equal(trl_fst_properties(fst, &properties, NULL), 0);
        assert_true(properties & TRL_FST_IDETERMINISTIC && properties & TRL_FST_NO_EPSILONS);
        check_machine(fst, share.sum, text, "a phrase");
        trl_fst_destroy(fst);

        chances nothing = only(0);
        for (int round = 0; round <= LONGEST_STRING; round++) {
            more = joined(&list, &loop);
            loop = (chances){{0}, {0}};
            add_chances(&loop, &nothing, end / (all + end));
            add_chances(&loop, &more, 1 / (all + end));
        }
        temp_write("phrases", text, end == 1 ? used : strlen(text));
        assert_int_equal(trl_grammar_read_loop(temp_path("phrases"), NULL, &fst, &err), 0);
        check_tables(fst);
        assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_TO_LOG}, NULL), 0);
        check_machine(fst, loop.sum, text, "a string of the loop");
        trl_fst_destroy(fst);
    }
}

static int begin(void **state)
{
    list_strings();
    return temp_folder_make(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammars_mean_what_they_say),
        cmocka_unit_test(machines_survive_files),
        cmocka_unit_test(lists_and_loops),
    };
    return cmocka_run_group_tests(tests, begin, temp_folder_remove);
}
