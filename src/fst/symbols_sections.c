/* Symbol tables inside our own files. */
#include "fst/symbols_sections.h"
#include "base/fail.h"

#include <string.h>

int trl__symbols_store(const trl_symbols *symbols, trl__container_writer *writer, const char *labels, const char *names,
                       trl_error *err)
{
    size_t count = symbols ? trl_symbols_count(symbols) : 0;
    int code = trl__container_begin(writer, labels, 0, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        int32_t label = trl_symbols_label(symbols, i);
        code = trl__container_write(writer, &label, sizeof label, err);
    }
    if (code == 0)
        code = trl__container_begin(writer, names, 0, err);
    if (code == 0 && symbols)
        code = trl__container_write(writer, trl_symbols_title(symbols), strlen(trl_symbols_title(symbols)) + 1, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        const char *name = trl_symbols_name(symbols, trl_symbols_label(symbols, i));
        code = trl__container_write(writer, name, strlen(name) + 1, err);
    }
    return code;
}

static int corrupt(const trl__container *container, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(container), what);
}

int trl__symbols_load(const trl__container *container, const char *labels_section, const char *names_section,
                      trl_symbols **out, trl_error *err)
{
    const void *labels = NULL, *names = NULL;
    size_t count = 0, size = 0;
    int code = trl__container_array(container, labels_section, sizeof(int32_t), &labels, &count, err);
    if (code == 0)
        code = trl__container_array(container, names_section, 1, &names, &size, err);
    if (code < 0 || size == 0)
        return code < 0 || count == 0 ? code : corrupt(container, "labels without names", err);
    const char *name = names, *end = name + size;
    if (end[-1] != '\0')
        return corrupt(container, "a symbol table's last name does not end", err);
    code = trl_symbols_create(name, out, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        name += strlen(name) + 1;
        code = name == end ? corrupt(container, "labels without names", err)
                           : trl_symbols_add(*out, name, ((const int32_t *)labels)[i], err);
    }
    if (code == 0 && name + strlen(name) + 1 != end)
        code = corrupt(container, "names without labels", err);
    return code == TRL_EINVAL ? corrupt(container, "a symbol table has a name or a label twice", err) : code;
}
