/* One very long input, for the method that works on parts of it at the same time. It is a text typed on the keys of a
 * telephone, where each key stands for three or four letters: which letters were meant? States are the letters, a blank
 * and a start; arcs read a key, write a letter and cost its probability after the letter before. */
#include "fst_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/transduce.h>

enum { LETTERS = 27, START = 27, STATES = 28, KEYS = 9 }; /* 'a' … 'z', blank */

static int32_t key_of(int letter)
{
    static const char keys[LETTERS + 1] = "222333444555666777788899991"; /* as on a telephone; the blank is 1 */
    return keys[letter] - '0';
}

/* Letters of the English text, words separated by blanks; whatever is no letter is passed over. */
static size_t take_letters(const fst_text *text, uint8_t *letter, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < text->tokens && count < most; i++) {
        for (const char *c = text->words.texts[text->token[i]]; *c && count < most; c++)
            if (*c >= 'a' && *c <= 'z')
                letter[count++] = (uint8_t)(*c - 'a');
        if (count < most)
            letter[count++] = LETTERS - 1;
    }
    return count;
}

static trl_transducer *make_machine(const uint8_t *letter, size_t count)
{
    double seen[STATES][LETTERS], all[STATES];
    trl_error err;
    trl_transducer_builder *builder;
    trl_transducer *made;
    for (int s = 0; s < STATES; s++) {
        all[s] = LETTERS;
        for (int c = 0; c < LETTERS; c++)
            seen[s][c] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        seen[i == 0 ? START : letter[i - 1]][letter[i]]++;
        all[i == 0 ? START : letter[i - 1]]++;
    }
    bench_check(trl_transducer_builder_create(STATES, START, &builder, &err), &err);
    for (int32_t key = 1; key <= KEYS; key++)
        for (int32_t c = 0; c < LETTERS; c++)
            for (int32_t s = 0; key_of(c) == key && s < STATES; s++)
                bench_check(
                    trl_transducer_builder_arc(builder, key, s, c, c + 1, (float)-log(seen[s][c] / all[s]), &err),
                    &err);
    for (int32_t s = 0; s < LETTERS; s++)
        bench_check(trl_transducer_builder_final(builder, s, 0, &err), &err);
    bench_check(trl_transducer_builder_finish(builder, &made, &err), &err);
    return made;
}

/* Nanoseconds per letter of the wall time; the best of the runs. */
static double measure(const fst_bench *b, const trl_transducer *machine, trl_transduce_method method, trl_pool *pool,
                      trl_transduce_operation operation, const trl_transduce_input *input, double *weight)
{
    trl_error err;
    trl_transduce_work *work;
    trl_transduction result = {0};
    trl_transduce_options options = {.method = method, .pool = pool};
    double best = INFINITY;
    bench_check(trl_transduce_create(machine, &options, &work, &err), &err);
    for (int run = 0; run < b->sizes.runs; run++) {
        double start = bench_wall_seconds();
        bench_check(trl_transduce(work, operation, input, &result, &err), &err);
        best = fmin(best, bench_wall_seconds() - start);
    }
    *weight = result.weight;
    trl_transduce_destroy(work);
    return 1e9 * best / (double)input->count;
}

static void compare_methods(fst_bench *b, const trl_transducer *machine, const trl_transduce_input *input)
{
    static const char *const names[] = {"letters_serial_ns", "letters_frontier_ns", "letters_prefix_ns"};
    static const trl_transduce_method methods[] = {TRL_METHOD_SERIAL, TRL_METHOD_FRONTIER, TRL_METHOD_PREFIX};
    trl_error err;
    trl_pool *pool;
    double first[2] = {0};
    bench_check(trl_pool_create(2, &pool, &err), &err);
    for (int m = 0; m < 3; m++)
        for (int o = 0; o < 2; o++) {
            char key[64];
            double weight;
            double ns = measure(b, machine, methods[m], methods[m] == TRL_METHOD_PREFIX ? pool : NULL,
                                o ? TRL_TRANSDUCE_FORWARD : TRL_TRANSDUCE_VITERBI, input, &weight);
            snprintf(key, sizeof key, "%s_%s", names[m], o ? "forward" : "viterbi");
            bench_report(b->result, key, ns, "ns", m < 2 ? "per letter, one thread" : "per letter, two threads");
            first[o] = m == 0 ? weight : first[o];
            if (!(fabs(weight - first[o]) <= 1e-5 * fabs(first[o]))) {
                fprintf(stderr, "trellis-bench: %s gives %.9g, serial %.9g\n", key, weight, first[o]);
                exit(3);
            }
        }
    trl_pool_destroy(pool);
}

void fst_measure_letters(fst_bench *b)
{
    uint8_t *letter = fst_must(trl__alloc(b->sizes.letters, 1));
    int32_t *keys = fst_must(trl__alloc(b->sizes.letters, sizeof *keys));
    size_t count = take_letters(&b->corpus.english, letter, b->sizes.letters);
    trl_transducer *machine = make_machine(letter, count);
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(letter[i]);
    printf("  one input of %zu letters, typed on the keys of a telephone, through a machine of %d states:\n", count,
           STATES);
    compare_methods(b, machine, &(trl_transduce_input){.labels = keys, .count = count});
    trl_transducer_destroy(machine);
    trl__free(letter);
    trl__free(keys);
}
