/* Scores as one JSON object. */
#include "cli.h"
#include "cli_json.h"
#include "score_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no infinity. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *counts_object(trl_counts c)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "words", (json_int_t)c.words, "correct",
                     (json_int_t)c.correct, "substitutions", (json_int_t)c.substitutions, "deletions",
                     (json_int_t)c.deletions, "insertions", (json_int_t)c.insertions, "utterances",
                     (json_int_t)c.utterances, "wrong_utterances", (json_int_t)c.wrong, "wer",
                     number(trl_word_error_rate(c)), "ser", number(trl_sentence_error_rate(c)));
}

static json_t *speaker_list(const trl_score *score)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trl_score_speakers(score); i++) {
        const trl_scored_speaker *s = trl_score_speaker(score, i);
        json_t *object = counts_object(s->counts);
        json_object_set_new(object, "speaker", cli_json_string(s->name));
        json_array_append_new(list, object);
    }
    return list;
}

/* Pairs as [said, heard, kind]. */
static json_t *pair_list(const trl_scored_utterance *u)
{
    json_t *list = json_array();
    for (size_t i = 0; i < u->pair_count; i++) {
        const trl_word_pair *p = &u->pairs[i];
        json_array_append_new(
            list, json_pack("[o,o,o]", cli_json_string(p->said), cli_json_string(p->heard), json_stringn(&p->kind, 1)));
    }
    return list;
}

static json_t *utterance_list(const score_results *r, const trl_score *score)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trl_score_utterances(score); i++) {
        const trl_scored_utterance *u = trl_score_utterance(score, i);
        trl_counts c = u->counts;
        json_t *object = json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "id", cli_json_string(u->id), "speaker",
                                   cli_json_string(trl_score_speaker(score, u->speaker)->name), "words",
                                   (json_int_t)c.words, "correct", (json_int_t)c.correct, "substitutions",
                                   (json_int_t)c.substitutions, "deletions", (json_int_t)c.deletions, "insertions",
                                   (json_int_t)c.insertions, "missing", u->missing, "alignment", pair_list(u));
        if (r->oracle)
            json_object_set_new(object, "chosen", json_integer(u->chosen));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *extra_list(const trl_score *score)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trl_score_extras(score); i++)
        json_array_append_new(list, cli_json_string(trl_score_extra(score, i)));
    return list;
}

static json_t *confusion_list(const trl_score *score)
{
    trl_confusion *found;
    size_t count;
    if (trl_score_confusions(score, &found, &count, NULL) < 0)
        return NULL; /* of memory: there is no other reason */
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:o,s:o,s:I}", "said", cli_json_string(found[i].said), "heard",
                                              cli_json_string(found[i].heard), "count", (json_int_t)found[i].count));
    free(found);
    return list;
}

static json_t *system_object(const score_results *r, int index)
{
    const scored_system *s = &r->systems[index];
    json_t *object = counts_object(trl_score_total(s->score));
    int lost = json_object_set_new(object, "hypothesis", cli_json_string(s->path));
    if (r->bootstrap)
        lost |=
            json_object_set_new(object, "interval", json_pack("[o,o]", number(s->interval[0]), number(s->interval[1])));
    lost |= json_object_set_new(object, "speakers", speaker_list(s->score));
    lost |= json_object_set_new(object, "utterance_scores", utterance_list(r, s->score));
    lost |= json_object_set_new(object, "extra", extra_list(s->score));
    lost |= json_object_set_new(object, "confusions", confusion_list(s->score));
    if (lost == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *test_object(const trl_matched_pairs *m)
{
    return json_pack("{s:I,s:o,s:o,s:o,s:o}", "pairs", (json_int_t)m->pairs, "mean", number(m->mean), "deviation",
                     number(m->deviation), "z", number(m->z), "p", number(m->p));
}

static json_t *comparison_object(const trl_comparison *c)
{
    return json_pack("{s:o,s:o,s:[o,o],s:f,s:o}", "mapsswe", test_object(&c->segments), "difference",
                     number(c->difference), "interval", number(c->interval[0]), number(c->interval[1]), "second_better",
                     c->second_better, "matched_pairs", test_object(&c->units));
}

static json_t *make_root(const score_results *r)
{
    json_t *systems = json_array();
    int lost = 0;
    for (int i = 0; i < r->count; i++)
        lost |= json_array_append_new(systems, system_object(r, i));
    json_t *root = json_pack("{s:o,s:s,s:b,s:o}", "reference", cli_json_string(r->reference), "scorer", r->scorer,
                             "oracle", r->oracle, "systems", systems);
    if (r->bootstrap)
        lost |= json_object_set_new(
            root, "bootstrap",
            json_pack("{s:s,s:i,s:I,s:f}", "units", r->bootstrap->speakers ? "speakers" : "utterances", "replicates",
                      r->bootstrap->replicates, "seed", (json_int_t)r->bootstrap->seed, "level", r->bootstrap->level));
    if (r->bootstrap && r->count == 2)
        lost |= json_object_set_new(root, "comparison", comparison_object(&r->comparison));
    if (lost == 0)
        return root;
    json_decref(root);
    return NULL;
}

int score_write_json(const char *path, const score_results *r, trl_error *err)
{
    json_t *root = make_root(r);
    if (!root)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    char *bytes = cli_json_text(root, JSON_INDENT(1), err);
    if (!bytes)
        return err->code;
    int code = cli_save(path, bytes, strlen(bytes), err);
    free(bytes);
    return code;
}
