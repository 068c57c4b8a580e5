/* N-gram models in files, whatever their form. */
#include "fst/fst_format.h"

#include "base/fail.h"
#include "base/installed.h"

int trl__fst_read_ngrams(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                         trl_error *err)
{
    *out = NULL;
    int trie = trl__source_starts(source, TRL__SPHINX_LM_MAGIC, sizeof TRL__SPHINX_LM_MAGIC - 1, err);
    int dmp = trie == 0 ? trl__source_starts(source, TRL__SPHINX_DMP_MAGIC, sizeof TRL__SPHINX_DMP_MAGIC - 1, err) : 0;
    if (trie == 0 && dmp == 0)
        dmp = trl__source_starts(source, TRL__SPHINX_DMP_MAGIC_BIG, sizeof TRL__SPHINX_DMP_MAGIC_BIG - 1, err);
    if (trie < 0 || dmp < 0)
        return trie < 0 ? trie : dmp;
    if (trie)
        return trl__fst_read_sphinx_lm(source, options, out, skipped, err);
    return dmp ? trl__fst_read_sphinx_dmp(source, options, out, skipped, err)
               : trl__fst_read_arpa(source, options, out, skipped, err);
}

int trl__fst_open(const char *path, trl__source *source, trl_error *err)
{
    trl__arena arena = {0};
    int code = trl__installed(&arena, path, TRL__INSTALLED_LM, &path, err);
    if (code == 0)
        code = trl__source_open_packed(path, source, err);
    trl__arena_free(&arena);
    return code;
}

int trl_fst_read_arpa(const char *path, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                      trl_error *err)
{
    trl__source source;
    *out = NULL;
    int code = trl__fst_open(path, &source, err);
    if (code < 0)
        return code;
    code = trl__fst_read_ngrams(&source, options ? options : &(trl_arpa_options){.backoff = 0}, out, skipped, err);
    trl__source_close(&source);
    return code;
}
