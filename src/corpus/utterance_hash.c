#include "corpus/utterance_hash.h"

#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

uint64_t trl__hash_text(uint64_t before, const char *text)
{
    return text ? XXH3_64bits_withSeed(text, strlen(text) + 1, before) : before + 1;
}

uint64_t trl__hash_file_times(uint64_t before, const char *path)
{
    struct stat file = {0};
    stat(path, &file); /* one that is not there is found when it is read */
    const int64_t numbers[] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    return XXH3_64bits_withSeed(numbers, sizeof numbers, before);
}

uint64_t trl__hash_place_times(uint64_t before, const char *place)
{
    const char *form = strchr(place, ':');
    return trl__hash_file_times(before, form ? form + 1 : place);
}

uint64_t trl__hash_lexicon(uint64_t h, const trl_lexicon *lexicon)
{
    for (size_t w = 0; w < trl_lexicon_words(lexicon); w++) {
        h = trl__hash_text(h, trl_lexicon_word(lexicon, w));
        for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, w); v++) {
            trl_pronunciation p = trl_lexicon_pronunciation(lexicon, w, v);
            h = XXH3_64bits_withSeed(p.phones, p.length * sizeof *p.phones, h);
        }
    }
    return h;
}

static uint64_t hash_utterance(uint64_t before, const trl_utterance *u)
{
    uint64_t h =
        trl__hash_text(trl__hash_text(trl__hash_text(trl__hash_text(before, u->id), u->speaker), u->path), u->text);
    const double times[] = {u->start, u->end};
    const int64_t numbers[] = {u->channel, u->bad};
    h = XXH3_64bits_withSeed(numbers, sizeof numbers, XXH3_64bits_withSeed(times, sizeof times, h));
    return trl__hash_file_times(h, u->path);
}

uint64_t trl__hash_corpus(uint64_t before, const trl_corpus *corpus)
{
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        before = hash_utterance(before, trl_corpus_get(corpus, i));
    return before;
}
