/* How the words of a graph are said: the lexicon's pronunciations as units of the model. With them words are found again along a path, whatever became of
 * their labels. */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

typedef struct spoken_list {
    trl_graph *graph;
    const trl_lexicon *lexicon;
    const trl__unit_map *map;
    size_t count, units; /* so far */
    size_t first_capacity, unit_capacity;
} spoken_list;

/* Pronunciations with phones that the model lacks are never said. */
static int is_sayable(const spoken_list *l, trl_pronunciation p)
{
    for (size_t i = 0; i < p.length; i++)
        if (trl__unit_of(l->map, p, i) < 0)
            return 0;
    return p.length > 0;
}

static int add_pronunciation(spoken_list *l, trl_pronunciation p, trl_error *err)
{
    trl_graph *g = l->graph;
    if (!is_sayable(l, p))
        return 0;
    if (l->units + p.length > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the pronunciations of a graph have at most 2^32 - 1 units");
    if (TRL_GROW(g->spoken_first, l->first_capacity, l->count + 2) < 0 ||
        TRL_GROW(g->spoken_units, l->unit_capacity, l->units + p.length) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < p.length; i++)
        g->spoken_units[l->units++] = trl__unit_of(l->map, p, i);
    g->spoken_first[++l->count] = (uint32_t)l->units;
    return 0;
}

int trl__graph_set_spoken(trl_graph *g, const trl_lexicon *lexicon, const trl__unit_map *map, trl_error *err)
{
    spoken_list l = {.graph = g, .lexicon = lexicon, .map = map};
    int code = 0;
    g->spoken_word = trl__alloc_zero((size_t)g->words + 1, sizeof *g->spoken_word);
    if (!g->spoken_word || TRL_GROW(g->spoken_first, l.first_capacity, 1) < 0 ||
        TRL_GROW(g->spoken_units, l.unit_capacity, 1) < 0)
        return trl__fail_memory(err);
    g->spoken_first[0] = 0;
    for (int32_t label = 0; code == 0 && label < g->words; label++) {
        const char *name = label > 0 && g->symbols ? trl_symbols_name(g->symbols, label) : NULL;
        int64_t word = name ? trl_lexicon_find(lexicon, name) : -1;
        g->spoken_word[label] = (uint32_t)l.count;
        for (size_t v = 0; code == 0 && word >= 0 && v < trl_lexicon_pronunciations(lexicon, (size_t)word); v++)
            code = add_pronunciation(&l, trl_lexicon_pronunciation(lexicon, (size_t)word, v), err);
    }
    g->spoken_word[g->words] = (uint32_t)l.count;
    return code;
}
