/* Transcripts as people write them: what comes out is UTF-8 with single blanks, and has as many words as its tokens
 * say. */
#include "base/text_file.h"
#include "corpus/corpus_builder.h"
#include "corpus/written_words.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const trl__spoken_text *t)
{
    size_t words = 0, counted = 0, length = strlen(t->text);
    if (length != t->used || trl__utf8_check(t->text, length) < length)
        abort();
    for (size_t i = 0; i < length; i++)
        words += t->text[i] != ' ' && (i == 0 || t->text[i - 1] == ' ');
    for (size_t i = 0; i < t->tokens; i++)
        counted += t->counts[i];
    if (words != counted)
        abort();
}

static void look_for(const char *transcript)
{
    static const char words[] = "a A\nit A\n's A\nl' A\nhomme A\nstra\303\237e A\n[laugh] A\nI\314\207 A\n-x A\n";
    trl__text text;
    trl_lexicon *lexicon = NULL;
    trl__written_words *written = NULL;
    trl__spoken_text spoken = {0};
    trl_error err;
    int code = trl__text_from_memory("lexicon", words, sizeof words - 1, &text, &err);
    if (code == 0)
        code = trl__lexicon_parse("lexicon", &text, NULL, &lexicon, &err);
    trl__text_free(&text);
    if (code == 0)
        code = trl__written_create(lexicon, NULL, &written, &err);
    if (code == 0 && trl__written_text(written, transcript, &spoken, &err) == 0)
        check(&spoken);
    trl__spoken_text_free(&spoken);
    trl__written_destroy(written);
    trl_lexicon_destroy(lexicon);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy || trl__utf8_check((const char *)data, size) < size) {
        free(copy);
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        copy[i] = (char)data[i];
    copy[size] = '\0';
    for (char *c = copy; *c; c++)
        *c = trl__is_space(*c) ? ' ' : *c;
    look_for(copy);
    free(copy);
    return 0;
}
