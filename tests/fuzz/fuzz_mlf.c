/* Any bytes as a master label file. Of what is accepted, every entry is found by some name: its own base name. */
#include "base/path.h"
#include "corpus/htk_mlf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const trl_label_file *file, size_t i)
{
    trl_label_entry e = trl_label_file_entry(file, i);
    char id[2048];
    const char *base = trl__base_name(e.name);
    snprintf(id, sizeof id, "%.*s", (int)(trl__extension(base) - base), base);
    long found = trl_label_file_find(file, id, e.name);
    if (!strpbrk(id, "*?") && (found < 0 || (size_t)found > i))
        abort();
    for (size_t k = 0; k < e.count; k++)
        if (e.labels[k].level >= e.levels || strlen(e.labels[k].text) > 1023)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_label_file *file = NULL;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0)
        return 0;
    if (trl__label_file_parse("fuzz", &text, &file, &err) == 0)
        for (size_t i = 0; i < trl_label_file_count(file) && i < 1000; i++)
            check_entry(file, i);
    trl_label_file_destroy(file);
    trl__text_free(&text);
    return 0;
}
