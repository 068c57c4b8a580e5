#include "base/dot_text.h"

int trl__dot_text(trl_file *file, const char *text, size_t length, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < length; i++) {
        if (text[i] == '"' || text[i] == '\\')
            code = trl_file_write(file, "\\", 1, err);
        if (code == 0)
            code = trl_file_write(file, text + i, 1, err);
    }
    return code;
}
