/* The transcripts of a corpus as words of a lexicon (written_words.h), and what was changed for that. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "corpus/written_words.h"

#include <stdlib.h>
#include <string.h>

const char *trl_text_change_name(trl_text_change change)
{
    static const char *const names[TRL_TEXT_CHANGES] = {"same", "letters", "marks", "split", "replaced", "left-out"};
    return change >= 0 && change < TRL_TEXT_CHANGES ? names[change] : "unknown";
}

static int change_text(trl_corpus *corpus, trl_utterance *u, const trl__spoken_text *t, trl_error *err)
{
    uint32_t *counts = trl__arena_alloc(&corpus->arena, t->tokens * sizeof *counts);
    const char *text = trl__arena_copy(&corpus->arena, t->text, t->used);
    if (!counts || !text)
        return trl__fail_memory(err);
    if (t->tokens > 0)
        memcpy(counts, t->counts, t->tokens * sizeof *counts);
    u->written = u->text;
    u->spoken = counts;
    u->text = text;
    if (t->used > 0)
        return 0;
    u->text = u->written = NULL;
    u->spoken = NULL;
    return trl__corpus_report(corpus, (size_t)(u - corpus->utterances),
                              trl__text_finding(corpus, TRL_FINDING_EMPTY_TRANSCRIPT), u->text_source, u->text_line,
                              err, "there are no words in the transcript, only punctuation");
}

/* Bytes of the blank that stands here: the plain one, or one of typesetting or other scripts (no-break, thin, of no
 * width, ideographic …); 0: none. */
static size_t blank_length(const char *text)
{
    static const char *const blanks[] = {
        " ",      "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
        "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u200b", "\u202f", "\u205f", "\u3000",
    };
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (strncmp(text, blanks[i], strlen(blanks[i])) == 0)
            return strlen(blanks[i]);
    return 0;
}

/* Words separated by single plain blanks, whatever the blanks were. */
static int separate(trl_corpus *corpus, trl_utterance *u, trl_error *err)
{
    char *text = trl__arena_copy(&corpus->arena, u->text, strlen(u->text)), *to = text;
    if (!text)
        return trl__fail_memory(err);
    for (const char *from = u->text; *from;) {
        size_t blank = blank_length(from);
        if (blank > 0 && to > text && to[-1] != ' ')
            *to++ = ' ';
        if (blank == 0)
            *to++ = *from;
        from += blank > 0 ? blank : 1;
    }
    to -= to > text && to[-1] == ' ';
    *to = '\0';
    u->text = text;
    return 0;
}

static int is_ascii(const char *text)
{
    while (*text && (unsigned char)*text < 0x80)
        text++;
    return *text == '\0';
}

static int change_texts(trl_corpus *corpus, trl__written_words *written, trl_error *err)
{
    trl__spoken_text t = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < corpus->count; i++) {
        trl_utterance *u = &corpus->utterances[i];
        if (!u->text || u->written)
            continue;
        if (!is_ascii(u->text))
            code = separate(corpus, u, err);
        if (code == 0)
            code = trl__written_text(written, u->text, &t, err);
        if (code == 0 && (t.changed || !*u->text))
            code = change_text(corpus, u, &t, err);
    }
    trl__spoken_text_free(&t);
    return code;
}

/* ---- What was changed ---- */

static int comes_before(const trl__spoken_words *a, const trl_text_example *b)
{
    if (!b->written || a->times != b->times)
        return !b->written || a->times > b->times;
    return strcmp(a->written, b->written) < 0;
}

static void add_example(trl_text_example *examples, const trl__spoken_words *s)
{
    size_t place = TRL_TEXT_EXAMPLES;
    while (place > 0 && comes_before(s, &examples[place - 1]))
        place--;
    if (place == TRL_TEXT_EXAMPLES)
        return;
    memmove(examples + place + 1, examples + place, (TRL_TEXT_EXAMPLES - 1 - place) * sizeof *examples);
    examples[place] = (trl_text_example){s->written, s->words, s->times};
}

static int keep_examples(trl_corpus *corpus, trl_text_example *examples, trl_error *err)
{
    for (size_t i = 0; i < TRL_TEXT_EXAMPLES && examples[i].written; i++) {
        trl_text_example *e = &examples[i];
        e->written = trl__arena_copy(&corpus->arena, e->written, strlen(e->written));
        e->words = trl__arena_copy(&corpus->arena, e->words, strlen(e->words));
        if (!e->written || !e->words)
            return trl__fail_memory(err);
    }
    return 0;
}

static int summarise(trl_corpus *corpus, const trl__written_words *written, trl_text_summary *summary, trl_error *err)
{
    size_t count;
    const trl__spoken_words *all = trl__written_tokens(written, &count);
    *summary = (trl_text_summary){.tokens = {0}};
    for (size_t i = 0; i < count; i++) {
        summary->tokens[all[i].change] += all[i].times;
        summary->distinct[all[i].change]++;
        if (all[i].change != TRL_TEXT_SAME)
            add_example(summary->examples[all[i].change], &all[i]);
    }
    int code = 0;
    for (int change = 0; code == 0 && change < TRL_TEXT_CHANGES; change++)
        code = keep_examples(corpus, summary->examples[change], err);
    return code;
}

int trl_corpus_find_words(trl_corpus *corpus, const trl_lexicon *lexicon, const char *replace,
                          trl_text_summary *summary, trl_findings *findings, trl_error *err)
{
    trl__written_words *written;
    int code = trl__written_create(lexicon, replace, &written, err);
    corpus->findings = findings;
    if (code == 0)
        code = change_texts(corpus, written, err);
    if (code == 0 && summary)
        code = summarise(corpus, written, summary, err);
    corpus->findings = NULL;
    trl__written_destroy(written);
    return code;
}
