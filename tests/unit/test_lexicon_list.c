/* Several lexicons as one: en-us,mine.dict. */
#include "align_fixture.h"
#include "make_sound.h"
#include "temp_folder.h"

static void put(const char *name, const char *content)
{
    save(temp_path(name), content, strlen(content));
}

static void check_said(const trl_lexicon *l, const char *word, size_t variant, const char *phones, float probability)
{
    char text[100] = "";
    trl_pronunciation p = trl_lexicon_pronunciation(l, (size_t)trl_lexicon_find(l, word), variant);
    for (size_t i = 0; i < p.length; i++)
        strcat(text, trl_lexicon_phone(l, (size_t)p.phones[i]));
    assert_string_equal(text, phones);
    assert_true(p.probability == probability);
}

/* The later adds to what is there; lines and probabilities are each file's own; a file's name may have commas in it. */
static void test_several(void **state)
{
    (void)state;
    char list[1000], place[300];
    trl_lexicon *l;
    trl_findings *findings;
    put("one", "a X Y\nb Y\n");
    put("two", "b 0.5 Y\nb 0.25 Z\nc 0.5 X\nbad 2 X\n");
    put("on,e", "d Y\n");
    put("end,", "e Y\n");
    size_t used = (size_t)snprintf(list, sizeof list, "%s", temp_path("one"));
    used += (size_t)snprintf(list + used, sizeof list - used, ",%s", temp_path("two"));
    snprintf(place, sizeof place, "%s", temp_path("two"));
    must(trl_findings_create(&findings, &err));
    must(trl_lexicon_read(list, findings, &l, &err));
    assert_int_equal(trl_findings_count(findings), 1);
    assert_string_equal(trl_findings_get(findings, 0)->file, place);
    assert_int_equal(trl_findings_get(findings, 0)->line, 4);
    trl_findings_destroy(findings);
    assert_int_equal(trl_lexicon_words(l), 3);
    check_said(l, "a", 0, "XY", 1);
    check_said(l, "b", 0, "Y", 1);
    check_said(l, "b", 1, "Z", 0.25f);
    check_said(l, "c", 0, "X", 0.5f);
    trl_lexicon_destroy(l);

    snprintf(list + used, sizeof list - used, ",%s", temp_path("on,e"));
    assert_int_equal(trl_lexicon_read(list, NULL, &l, &err), TRL_EFORMAT); /* line 4 of two */
    put("two", "c X\n");
    must(trl_lexicon_read(list, NULL, &l, &err));
    assert_int_equal(trl_lexicon_words(l), 4);
    check_said(l, "d", 0, "Y", 1);
    trl_lexicon_destroy(l);
    must(trl_lexicon_read(temp_path("end,"), NULL, &l, &err));
    trl_lexicon_destroy(l);

    snprintf(list + used, sizeof list - used, ",");
    assert_int_equal(trl_lexicon_read(list, NULL, &l, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "missing beside a comma"));
    snprintf(list + used, sizeof list - used, ",%s/none,%s", temp_folder, "x");
    assert_int_equal(trl_lexicon_read(list, NULL, &l, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "/none: can't open"));
    put("two", ";;; nothing\n");
    list[used] = '\0';
    assert_int_equal(trl_lexicon_read(list, NULL, &l, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "two: no pronunciations"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_several, temp_folder_make, temp_folder_remove),
    };
    return RUN(tests);
}
