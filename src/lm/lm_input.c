/* The texts of language models: a sentence per line; in Kaldi's form, its utterance's id in front. A text that is
 * taken for a plain one though its lines have ids makes a model of ids, one for each sentence, and nobody notices: so
 * the form is recognised by what lies beside the text. */
#include "base/fail.h"
#include "base/log_write.h"
#include "base/path.h"
#include "base/text_file.h"
#include "lm/lm_data.h"

#include <string.h>
#include <sys/stat.h>

#define LOOKED_AT 100 /* lines, to recognise the form */

/* ---- The form ---- */

/* The first fields of the lines of a file beside the text, if there is one. */
static int gather_ids(const char *text, const char *name, trl__strings *ids, trl_error *err)
{
    char *path = trl__path_beside(text, name), *line;
    struct stat status;
    trl__text list = {0};
    size_t length;
    int code = path ? 0 : trl__fail_memory(err);
    if (code == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode))
        code = trl__text_read(path, &list, err);
    while (code == 0 && trl__text_line(&list, &line, &length)) {
        const char *id = trl__next_field(&line);
        if (id && trl__strings_add(ids, id, strlen(id)) < 0)
            code = trl__fail_memory(err);
    }
    trl__text_free(&list);
    trl__free(path);
    return code;
}

/* Do most of the first lines begin with one of the ids? 1, 0 or an error. */
static int begins_with_ids(const char *path, const trl__strings *ids, trl_error *err)
{
    trl__source source;
    char *line;
    size_t length;
    int lines = 0, known = 0, found = 0, code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    while (lines < LOOKED_AT && (found = trl__source_line(&source, &line, &length, err)) > 0) {
        const char *field = trl__next_field(&line);
        lines += field != NULL;
        known += field && trl__strings_find(ids, field, strlen(field)) >= 0;
    }
    trl__source_close(&source);
    return found < 0 ? found : 2 * known > lines;
}

/* Is it the text of a Kaldi-style data folder? 1, 0 or an error. */
static int has_ids(const char *path, trl_error *err)
{
    static const char *const lists[] = {"utt2spk", "segments", "wav.scp"};
    trl__strings ids = {0};
    int code = 0;
    if (strcmp(path, "-") == 0)
        return 0;
    for (size_t i = 0; code == 0 && i < sizeof lists / sizeof *lists; i++)
        code = gather_ids(path, lists[i], &ids, err);
    if (code == 0 && ids.count > 0)
        code = begins_with_ids(path, &ids, err);
    trl__strings_free(&ids);
    if (code > 0)
        trl__log(TRL_LOG_INFO,
                 "%s: the text of a Kaldi-style data folder; the utterance ids that its lines begin with are no words "
                 "(--text plain takes them for words)",
                 path);
    return code;
}

int trl__lm_input_open(const char *path, trl_lm_form form, trl__lm_input *out, trl_error *err)
{
    *out = (trl__lm_input){.source = {.fd = -1}};
    if (form < TRL_LM_FORM_AUTO || form > TRL_LM_FORM_KALDI)
        return trl__fail(err, TRL_EINVAL, "there is no form of texts number %d", (int)form);
    int ids = form == TRL_LM_FORM_AUTO ? has_ids(path, err) : form == TRL_LM_FORM_KALDI;
    out->has_ids = ids > 0;
    return ids < 0 ? ids : trl__source_open_packed(path, &out->source, err);
}

/* ---- Sentences ---- */

static char *without_marks(char *line)
{
    line = trl__trim(line);
    size_t mark = strlen(TRL__LM_BEGIN), end = strlen(TRL__LM_END);
    if (strncmp(line, TRL__LM_BEGIN, mark) == 0 && (line[mark] == '\0' || trl__is_space(line[mark])))
        line = trl__trim(line + mark);
    size_t length = strlen(line);
    if (length >= end && strcmp(line + length - end, TRL__LM_END) == 0 &&
        (length == end || trl__is_space(line[length - end - 1]))) {
        line[length - end] = '\0';
        line = trl__trim(line);
    }
    return line;
}

int trl__lm_sentence(trl__lm_input *input, char **words, trl_error *err)
{
    char *line;
    size_t length;
    int found;
    while ((found = trl__source_line(&input->source, &line, &length, err)) > 0) {
        if (input->has_ids && !trl__next_field(&line))
            continue;
        *words = without_marks(line);
        if (**words)
            return 1;
    }
    return found;
}

int trl__lm_word(const trl__lm_input *input, char **words, const char **word, trl_error *err)
{
    *word = trl__next_field(words);
    if (!*word)
        return 0;
    if (strcmp(*word, TRL__LM_BEGIN) == 0 || strcmp(*word, TRL__LM_END) == 0)
        return trl__source_fail(&input->source, err, TRL_EFORMAT,
                                "%s inside a sentence; there must be one sentence on each line", *word);
    return 1;
}
