#include "base/json_text.h"
#include "base/text_file.h"

#include <math.h>
#include <string.h>

static int write_escaped(trl_file *file, char c, trl_error *err)
{
    if (c == '"' || c == '\\')
        return trl_file_print(file, err, "\\%c", c);
    return trl_file_print(file, err, "\\u%04x", (unsigned)(unsigned char)c);
}

int trl__json_string(trl_file *file, const char *text, trl_error *err)
{
    size_t length = strlen(text), valid = trl__utf8_check(text, length), plain = 0;
    int code = trl_file_write(file, "\"", 1, err);
    for (size_t i = 0; code == 0 && i < length; i++) {
        char c = text[i];
        if (i != valid && c != '"' && c != '\\' && (unsigned char)c >= ' ' && c != 0x7F)
            continue;
        code = trl_file_write(file, text + plain, i - plain, err);
        plain = i + 1;
        if (code == 0)
            code = i == valid ? trl_file_print(file, err, "\\ufffd") : write_escaped(file, c, err);
        if (i == valid)
            valid = plain + trl__utf8_check(text + plain, length - plain);
    }
    if (code == 0)
        code = trl_file_write(file, text + plain, length - plain, err);
    return code < 0 ? code : trl_file_write(file, "\"", 1, err);
}

int trl__json_number(trl_file *file, double value, trl_error *err)
{
    char text[32] = "null";
    if (isfinite(value))
        trl__format_double(value, text);
    return trl_file_write(file, text, strlen(text), err);
}
