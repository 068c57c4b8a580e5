/* Any bytes as a file of questions, for models with and without word positions. What is read asks something of known
 * units. */
#include "model/questions.h"
#include "model/topology.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No more than a reader of questions looks at: units, kinds, and whether phones have places. */
static void make_units(trl_model *model, int word_positions)
{
    static const char *const names[2][6] = {{"sil", "spn", "a", "m", "?", "ng"},
                                            {"sil", "spn", "a_B", "a_I", "a_E", "a_S"}};
    static uint8_t kinds[6] = {TRL_UNIT_SILENCE, TRL_UNIT_NOISE};
    for (int u = 0; u < 6; u++) {
        const char *name = names[word_positions][u];
        if (trl__strings_add(&model->units, name, strlen(name)) != u)
            abort();
    }
    model->unit_kind = kinds;
    model->word_positions = (uint8_t)word_positions;
}

static void check(const trl__questions *q)
{
    for (int32_t set = 0; set < q->sets.count; set++) {
        int members = 0;
        for (int32_t u = TRL__NOTHING; u < 6; u++)
            members += trl__unit_set_has(&q->sets, set, u);
        if (members == 0 || members == 7 || q->positions[set] == 0 || q->positions[set] >= 32 ||
            q->sets.names.texts[set][0] == '\0')
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int word_positions = 0; word_positions < 2; word_positions++) {
        trl_model model = {0};
        trl__text text;
        trl__questions *questions;
        char *unknown;
        trl_error err;
        make_units(&model, word_positions);
        if (trl__text_from_memory("fuzz", data, size, &text, &err) == 0) {
            if (trl__questions_parse("fuzz", &text, &model, 5, 2, &questions, &unknown, &err) == 0)
                check(questions);
            trl__questions_destroy(questions);
            trl__free(unknown);
            trl__text_free(&text);
        }
        trl__strings_free(&model.units);
    }
    return 0;
}
