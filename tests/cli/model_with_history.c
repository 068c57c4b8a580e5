/* Makes a model that was never trained, with a history of its training: model_with_history LEXICON HISTORY PROVENANCE MODEL.
 * HISTORY is a file, PROVENANCE a text. */
#include "model/model_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const trl_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static char *read_all(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    trl_error err;
    trl_lexicon *lexicon = NULL;
    trl_model *model = NULL;
    trl_model_options o = trl_model_defaults();
    const char *history = argc == 5 ? read_all(argv[2]) : NULL;
    if (!history)
        return fail(&(trl_error){TRL_EINVAL, "usage: model_with_history LEXICON HISTORY PROVENANCE MODEL"});
    int code = trl_lexicon_read(argv[1], NULL, &lexicon, &err);
    if (code == 0)
        code = trl_model_create(lexicon, "kind = mfcc\n", 39, &o, &model, &err);
    if (code == 0)
        code = trl__model_set_text(&model->history, history, &err);
    if (code == 0)
        code = trl__model_set_text(&model->provenance, argv[3], &err);
    if (code == 0)
        code = trl__model_set_text(&model->lexicon, "digits.dict: 11 words", &err);
    if (code == 0)
        code = trl_model_write(model, argv[4], &err);
    trl_model_destroy(model);
    trl_lexicon_destroy(lexicon);
    return code < 0 ? fail(&err) : 0;
}
