/* Text from memory: lines, fields, UTF-8 and numbers. The lines must be the text, no more and no less. */
#include "base/text_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition)
{
    if (!condition)
        abort();
}

static void split_line(char *line, size_t length)
{
    size_t valid = trl__utf8_check(line, length);
    demand(valid <= length && trl__utf8_check(line, valid) == valid);
    double number;
    int64_t whole;
    char *cursor = line;
    for (char *field; (field = trl__next_field(&cursor));) {
        demand(*field != '\0' && !strpbrk(field, " \t"));
        demand(field >= line && cursor <= line + length);
        if (trl__parse_double(field, &number) == 0)
            demand(number - number == 0);
        trl__parse_int(field, &whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0) {
        demand(err.code == TRL_EFORMAT && strstr(err.text, "fuzz: at byte ") == err.text);
        return 0;
    }
    int64_t newlines = 0;
    for (size_t i = text.position; i < text.size; i++)
        newlines += text.bytes[i] == '\n';
    int unfinished = text.size > text.position && text.bytes[text.size - 1] != '\n';
    char *line, *end = text.bytes + text.position;
    size_t length;
    while (trl__text_line(&text, &line, &length)) {
        demand(line == end && line[length] == '\0' && !memchr(line, '\n', length));
        end = text.bytes + text.position;
        split_line(line, length);
    }
    demand(text.line == newlines + unfinished && text.position == text.size);
    trl__text_free(&text);
    return 0;
}
