/* Language models as ARPA files: logarithms to base 10, -99 for <s>, which is never predicted. Packed by zlib when the name
 * asks for it, without a time in the header: the same model is the same bytes.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "lm/lm_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <trellis/file.h>
#include <zlib.h>

#define DIGITS 7
#define IMPOSSIBLE "-99"
#define GZIP_WINDOW (15 + 16) /* zlib's largest window, with gzip's header */

typedef struct writer {
    const trl_lm *lm;
    trl_file *file;
    z_stream *packer; /* NULL: plain */
    trl_error *err;
} writer;

/* ---- Bytes ---- */

static int pack(writer *w, const void *bytes, size_t size, int flush)
{
    unsigned char out[1 << 14];
    z_stream *z = w->packer;
    int code = 0;
    z->next_in = (Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)size;
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        deflate(z, flush);
        code = trl_file_write(w->file, out, sizeof out - z->avail_out, w->err);
    } while (code == 0 && z->avail_out == 0);
    return code;
}

static int put(writer *w, const char *text)
{
    return w->packer ? pack(w, text, strlen(text), Z_NO_FLUSH) : trl_file_write(w->file, text, strlen(text), w->err);
}

static int put_line(writer *w, const char *format, ...) TRL_PRINTF(2, 3);
static int put_line(writer *w, const char *format, ...)
{
    char line[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return put(w, line);
}

/* ---- N-grams ---- */

static void format_logarithm(float value, char *out)
{
    if (value > 0)
        trl__format_digits((float)log10((double)value), DIGITS, out);
    else
        memcpy(out, IMPOSSIBLE, sizeof IMPOSSIBLE);
}

/* words[0 … k - 1] are those of n-gram i of level k. */
static int put_ngram(writer *w, int k, uint32_t i, const int32_t *words)
{
    const trl__lm_level *level = &w->lm->levels[k];
    char number[32];
    format_logarithm(level->probability[i], number);
    int code = put(w, number);
    for (int n = 0; code == 0 && n < k; n++) {
        code = put(w, n ? " " : "\t");
        if (code == 0)
            code = put(w, w->lm->words[words[n]]);
    }
    if (code == 0 && level->backoff[i] != 1) {
        format_logarithm(level->backoff[i], number);
        code = put(w, "\t");
        if (code == 0)
            code = put(w, number);
    }
    return code < 0 ? code : put(w, "\n");
}

/* A walk over the tree of n-grams, down to level k: at each level one n-gram is open, and the next one begins another
 * history's when the range of the open one above is at its end. */
static int put_level(writer *w, int k)
{
    const trl__lm_level *levels = w->lm->levels;
    uint32_t open[TRL_LM_MOST_ORDER + 1] = {0};
    int32_t words[TRL_LM_MOST_ORDER];
    int code = put_line(w, "\n\\%d-grams:\n", k);
    for (uint32_t i = 0; code == 0 && i < levels[k].count; i++) {
        open[k] = i;
        for (int n = k - 1; n > 0; n--)
            while (open[n + 1] >= levels[n + 1].first[open[n] + 1])
                open[n]++;
        for (int n = 0; n < k; n++)
            words[n] = levels[n + 1].word[open[n + 1]];
        if (!levels[k].dropped[i])
            code = put_ngram(w, k, i, words);
    }
    return code;
}

static int put_all(writer *w)
{
    int code = put(w, "\\data\\\n");
    for (int k = 1; code == 0 && k <= w->lm->order; k++)
        code = put_line(w, "ngram %d=%" PRIu64 "\n", k, trl_lm_ngrams(w->lm, k));
    for (int k = 1; code == 0 && k <= w->lm->order; k++)
        code = put_level(w, k);
    return code < 0 ? code : put(w, "\n\\end\\\n");
}

static int put_packed(writer *w)
{
    z_stream packer;
    memset(&packer, 0, sizeof packer);
    if (deflateInit2(&packer, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return trl__fail_memory(w->err);
    w->packer = &packer;
    int code = put_all(w);
    if (code == 0)
        code = pack(w, NULL, 0, Z_FINISH);
    deflateEnd(&packer);
    return code;
}

int trl_lm_write(const trl_lm *lm, const char *path, trl_error *err)
{
    writer w = {.lm = lm, .err = err};
    size_t length = strlen(path);
    int code = trl_file_create(path, &w.file, err);
    if (code < 0)
        return code;
    code = length > 3 && strcmp(path + length - 3, ".gz") == 0 ? put_packed(&w) : put_all(&w);
    if (code == 0)
        return trl_file_commit(w.file, err);
    trl_file_abort(w.file);
    return code;
}
