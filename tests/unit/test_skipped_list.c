/* The list of what was left out: which findings it has, once each, and when there is none. */
#include "align_fixture.h"
#include "temp_folder.h"

static char text[2000];

/* The file's content; "none": there is no file. */
static const char *content(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return "none";
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void test_skipped_list(void **state)
{
    (void)state;
    char path[400];
    size_t entries;
    trl_findings *lists[2];
    snprintf(path, sizeof path, "%s", temp_path("out.skipped.tsv"));
    must(trl_findings_create(&lists[0], &err));
    must(trl_findings_create(&lists[1], &err));
    const trl_findings *given[3] = {lists[0], NULL, lists[1]};
    must(trl_findings_add(lists[0], TRL_FINDING_STEREO, "a.wav", 0, "a", &err,
                          "two channels")); /* no reason to leave out */
    must(trl_findings_write_skipped(given, 3, path, &entries, &err));
    assert_int_equal(entries, 0);
    assert_string_equal(content(path), "none");
    must(trl_findings_add(lists[0], TRL_FINDING_UNREADABLE, "a.wav", 0, "a", &err, "no sound"));
    must(trl_findings_add(lists[0], TRL_FINDING_UNALIGNED, "text", 3, "a", &err, "no path"));
    must(trl_findings_add(lists[1], TRL_FINDING_SYNTAX, "wav.scp", 7, NULL, &err, "no\tname"));
    must(trl_findings_add(lists[1], TRL_FINDING_UNKNOWN_WORD, "text", 9, "b", &err, "not in the lexicon: X"));
    must(trl_findings_write_skipped(given, 3, path, &entries, &err));
    assert_int_equal(entries, 3);
    assert_string_equal(content(path), "a\tno sound (a.wav)\n"
                                       "-\tno\xEF\xBF\xBDname (wav.scp:7)\n"
                                       "b\tnot in the lexicon: X (text:9)\n");
    must(trl_findings_write_skipped(given, 3, NULL, &entries, &err));
    assert_int_equal(entries, 3);
    must(trl_findings_write_skipped(given + 1, 1, path, &entries, &err)); /* nothing: an older list goes */
    assert_string_equal(content(path), "none");
    assert_int_equal(trl_findings_write_skipped(given, 1, temp_path("no/folder"), &entries, &err), TRL_ENOENT);
    trl_findings_destroy(lists[0]);
    trl_findings_destroy(lists[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_skipped_list, temp_folder_make, temp_folder_remove),
    };
    return RUN(tests);
}
