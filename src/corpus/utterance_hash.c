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
