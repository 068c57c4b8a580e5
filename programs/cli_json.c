#include "cli_json.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        cli_out_of_memory();
    return block;
}

void cli_json_begin(void)
{
    json_set_alloc_funcs(allocate, free);
}

json_t *cli_json_string(const char *text)
{
    json_t *string = text ? json_string(text) : json_null();
    return string ? string : json_string("\xEF\xBF\xBD");
}

char *cli_json_text(json_t *value, size_t flags, trl_error *err)
{
    char *text = value ? json_dumps(value, flags) : NULL;
    json_decref(value);
    if (!text)
        cli_error(err, TRL_EINVAL, "a text that is not UTF-8, or a number that is none, can't be written as JSON");
    return text;
}

int cli_json_write(json_t *value, size_t flags, trl_file *file, trl_error *err)
{
    char *text = cli_json_text(value, flags, err);
    int code = text ? trl_file_write(file, text, strlen(text), err) : err->code;
    free(text);
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

int cli_json_print(json_t *value, size_t flags, trl_error *err)
{
    char *text = cli_json_text(value, flags, err);
    if (!text)
        return err->code;
    puts(text); /* what can't be written is seen at the end of all (cli_run) */
    free(text);
    return 0;
}
