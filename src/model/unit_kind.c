#include "model/unit_kind.h"
#include "base/fail.h"

#include <string.h>
#include <strings.h>

/* The length without _B, _I, _E or _S at the end. */
static size_t length_without_position(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && name[length - 2] == '_' && strchr("BIES", name[length - 1]) ? length - 2 : length;
}

static int is_one_of(const char *name, size_t length, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == length && strncasecmp(name, *list, length) == 0)
            return 1;
    return 0;
}

trl_unit_kind trl__unit_kind_of_name(const char *name)
{
    static const char *const silence[] = {"sil", "ssil", "silence", "sp",   "pau", "pause",
                                          "h#",  "#h",   "<sil>",   "!sil", NULL};
    static const char *const noise[] = {"spn",   "nsn",   "noise", "gbg",   "garbage",
                                        "<unk>", "<spn>", "+spn+", "+nsn+", NULL};
    size_t length = length_without_position(name);
    if (is_one_of(name, length, silence))
        return TRL_UNIT_SILENCE;
    return is_one_of(name, length, noise) ? TRL_UNIT_NOISE : TRL_UNIT_PHONE;
}

int32_t trl__spoken_noise_unit(const trl_model *model)
{
    static const char *const spoken[] = {"spn", "<spn>", "+spn+", "<unk>", "gbg", "garbage", NULL};
    int32_t any = -1;
    for (size_t u = 0; u < model->units.count; u++) {
        const char *name = model->units.texts[u];
        if (model->unit_kind[u] != TRL_UNIT_NOISE)
            continue;
        if (is_one_of(name, length_without_position(name), spoken))
            return (int32_t)u;
        any = any < 0 ? (int32_t)u : any;
    }
    return any;
}

int trl__find_word_positions(trl_model *model, trl_error *err)
{
    size_t phones = 0;
    model->word_positions = 0;
    for (size_t u = 0; u < model->units.count; u++) {
        const char *name = model->units.texts[u];
        size_t length = strlen(name), base = length_without_position(name);
        if (model->unit_kind[u] != TRL_UNIT_PHONE)
            continue;
        if (base == length)
            return 0;
        char *other = trl__strdup(name);
        if (!other)
            return trl__fail_memory(err);
        int all = 1;
        for (const char *position = "BIES"; *position; position++) {
            other[length - 1] = *position;
            all = all && trl__strings_find(&model->units, other, length) >= 0;
        }
        trl__free(other);
        if (!all)
            return 0;
        phones++;
    }
    model->word_positions = phones > 0;
    return 0;
}
