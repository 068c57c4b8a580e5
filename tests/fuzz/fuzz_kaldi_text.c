/* Any bytes as the files of a Kaldi folder: wav.scp, segments, utt2spk and text, one after the other, separated by
 * lines that start with a percent sign. */
#include "corpus/corpus_builder.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The part of the input up to the next separator; *there = 0 when the input is used up. */
static void take(const uint8_t **data, size_t *size, trl__text *text, int *there)
{
    const uint8_t *start = *data;
    size_t length = 0;
    while (length < *size && !(start[length] == '%' && (length == 0 || start[length - 1] == '\n')))
        length++;
    *there = *size > 0;
    if (trl__text_from_memory("fuzz", start, length, text, NULL) < 0)
        *there = 0;
    size_t used = length < *size ? length + 1 : length;
    *data += used;
    *size -= used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__kaldi_files files = {.folder = "fuzz-folder-that-is-not-there"};
    int there;
    take(&data, &size, &files.wav, &there);
    take(&data, &size, &files.segments, &files.has_segments);
    take(&data, &size, &files.speakers, &files.has_speakers);
    take(&data, &size, &files.text, &files.has_text);
    trl_findings *findings = NULL;
    trl_corpus *corpus = NULL;
    if (trl_findings_create(&findings, NULL) == 0 &&
        trl__corpus_create(files.folder, TRL_CORPUS_KALDI, 1, findings, &corpus, NULL) == 0 &&
        trl__kaldi_parse(corpus, &files, NULL) == 0 && trl__corpus_finish(corpus, NULL) == 0)
        for (size_t i = 0; i < trl_corpus_count(corpus); i++) {
            const trl_utterance *u = trl_corpus_get(corpus, i);
            if (trl_corpus_find(corpus, u->id) != (long)i || !u->speaker || strcmp(u->path, "-") == 0)
                abort();
        }
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
    trl__text_free(&files.wav);
    trl__text_free(&files.segments);
    trl__text_free(&files.speakers);
    trl__text_free(&files.text);
    return 0;
}
