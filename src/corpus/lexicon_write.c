/* Writes a lexicon so that reading it gives the same one: WORD PROBABILITY PHONE …, word after word. The reader takes a few
 * things for something else, so they are dressed up: a word like "A(2)" gets another number behind it, which the reader cuts
 * off, and one that begins like a comment a blank before it. Where all pronunciations begin with a phone that is a number, a single probability
 * would not be told from them; then every line has as many numbers as the reader will take. */
#include "base/fail.h"
#include "base/text_file.h"
#include "corpus/lexicon_data.h"

#include <string.h>
#include <trellis/file.h>

/* How many numbers must stand between word and phones. */
static int numbers_needed(const trl_lexicon *l)
{
    for (size_t i = 0; i < l->count; i++) {
        double value;
        if (trl__parse_double(l->phones.texts[l->pronunciations[i].piece[1]], &value) < 0)
            return 1;
    }
    return TRL__LEXICON_NUMBERS;
}

static int write_line(trl_file *file, const trl_lexicon *l, const trl__pronunciation *p, int numbers, trl_error *err)
{
    const char *word = l->words.texts[p->piece[0]];
    char probability[32];
    trl__format_float(p->probability, probability);
    int code = trl_file_print(file, err, "%s%s%s %s", word[0] == ';' ? " " : "", word,
                              word[strlen(word) - 1] == ')' ? "(1)" : "", probability);
    for (int n = 1; code == 0 && n < numbers; n++)
        code = trl_file_write(file, " 1", 2, err);
    for (size_t i = 1; code == 0 && i <= p->length; i++)
        code = trl_file_print(file, err, " %s", l->phones.texts[p->piece[i]]);
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

int trl_lexicon_write(const trl_lexicon *lexicon, const char *path, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    int numbers = numbers_needed(lexicon);
    for (size_t i = 0; code == 0 && i < lexicon->count; i++)
        code = write_line(file, lexicon, &lexicon->pronunciations[i], numbers, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}
