/* Any bytes as a TextGrid. What is accepted has been read whole: every string is inside the text. */
#include "corpus/textgrid.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_inside(const trl__text *text, const char *string)
{
    if (string < text->bytes || string + strlen(string) > text->bytes + text->size)
        abort();
}

/* Every utterance has words, and a part of the sound that can exist. */
static void take_utterances(const trl__textgrid *grid)
{
    trl_findings *findings;
    trl_corpus *corpus;
    trl__sound sound = {"name", "speaker", "name.wav", 0};
    if (trl_findings_create(&findings, NULL) < 0)
        return;
    if (trl__corpus_create("fuzz", TRL_CORPUS_FOLDER, 1, findings, &corpus, NULL) == 0 &&
        trl__textgrid_add(corpus, &sound, grid, "name.TextGrid", NULL) < 0)
        abort();
    const trl_utterance *u;
    for (size_t i = 0; corpus && (u = trl_corpus_get(corpus, i)); i++)
        if (!u->text || !*u->text || !trl__part_is_valid(u->start, u->end))
            abort();
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl__textgrid grid;
    trl_error err;
    int64_t line = 0;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0)
        return 0;
    if (trl__textgrid_parse(&text, &grid, &line, &err) == 0) {
        for (size_t t = 0; t < grid.count; t++) {
            must_be_inside(&text, grid.tiers[t].name);
            for (size_t i = 0; i < grid.tiers[t].count; i++)
                must_be_inside(&text, grid.tiers[t].intervals[i].text);
        }
        take_utterances(&grid);
    }
    if (line < 1)
        abort();
    trl__textgrid_free(&grid);
    trl__text_free(&text);
    return 0;
}
