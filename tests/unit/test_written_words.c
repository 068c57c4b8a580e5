/* Texts as people write them, in many languages. What is expected follows from the rules of corpus/written_words.h
 * and from the lexicon of each case. */
#include "cmocka_test.h"
#include "corpus/corpus_builder.h"
#include "corpus/written_words.h"
#include "temp_folder.h"

#include <string.h>

static trl_error err;
static trl_lexicon *lexicon;
static trl__written_words *written;
static trl__spoken_text spoken;

/* A lexicon of these words, with blanks between. */
static void begin(const char *words, const char *replace)
{
    char lines[4000];
    size_t used = 0;
    trl__text text;
    for (const char *c = words; *c; c++)
        used += (size_t)snprintf(lines + used, sizeof lines - used, *c == ' ' ? " A\n" : "%c", *c);
    used += (size_t)snprintf(lines + used, sizeof lines - used, " A\n");
    assert_int_equal(trl__text_from_memory("lexicon", lines, used, &text, &err), 0);
    assert_int_equal(trl__lexicon_parse("lexicon", &text, NULL, &lexicon, &err), 0);
    trl__text_free(&text);
    assert_int_equal(trl__written_create(lexicon, replace, &written, &err), 0);
}

static void end(void)
{
    trl__written_destroy(written);
    trl_lexicon_destroy(lexicon);
    trl__spoken_text_free(&spoken);
}

static void becomes(const char *text, const char *expected)
{
    assert_int_equal(trl__written_text(written, text, &spoken, &err), 0);
    if (strcmp(spoken.text, expected) != 0)
        fail_msg("%s becomes '%s', not '%s'", text, spoken.text, expected);
    assert_int_equal(spoken.changed, strcmp(text, expected) != 0);
}

static void one(const char *words, const char *text, const char *expected)
{
    begin(words, NULL);
    becomes(text, expected);
    end();
}

static void what_the_lexicon_has_stays(void **state)
{
    (void)state;
    one("It's. U.S. , -", "It's. U.S. , -", "It's. U.S. , -");
    one("polish Polish", "Polish polish POLISH", "Polish polish polish");
    one("'cause cause", "\"'cause, 'cause 'Cause cause'", "'cause 'cause 'cause cause");
    one("US us", "US us Us", "US us us");
    one("a b", "a b", "a b");
}

static void english(void **state)
{
    (void)state;
    begin("it 's late he said in the years don't twenty one mother-in-law state of art Mr. <unk> [laugh]", NULL);
    becomes("\u201cIt\u2019s late,\u201d he said \u2013 in 1990.", "it 's late he said in 1990");
    becomes("Mr. Said said: THE YEARS!", "Mr. said said the years");
    becomes("Don\u2019t don\u00b4t DON'T", "don't don't don't");
    becomes("twenty-one twenty\u2010one Twenty\u2011One.", "twenty one twenty one twenty one");
    becomes("mother-in-law's late", "mother-in-law 's late");
    becomes("state-of-the-art", "state of the art");
    becomes("late\u2014said late--said late...said (late, said)", "late said late said late said late said");
    becomes("years' \u2018years\u2019 he's", "years years he 's");
    becomes("in/the he,said", "in the he said");
    becomes("- \u2013 ... \u201c\u201d ?! \u266a", "");
    end();
}

/* Nothing is made up: what the lexicon lacks stays a word, without the marks around it. */
static void unknown_words(void **state)
{
    (void)state;
    begin("one three ten it 's a b", NULL);
    becomes("Zwolle, zwolle-one (Zwolle) 3.14 10-20 $5 50% R&D #a a+b",
            "Zwolle zwolle-one (Zwolle) 3.14 10-20 $5 50% R&D #a a+b");
    becomes("one\u2013Zwolle", "one Zwolle");
    becomes("& @ % +", "& @ % +");
    becomes("Zwolle's", "Zwolle's");
    becomes("'''''''''''one''''''''''''", "one");
    end();
    begin("3 14 1 000 10 20", NULL);
    becomes("3.14 1,000 10-20 10:20", "3.14 1,000 10-20 10:20");
    becomes("20, (20) -20-", "20 (20) 20");
    end();
}

static void noises(void **state)
{
    (void)state;
    begin("uh laugh door slams [laugh] <sil> he", NULL);
    becomes("[LAUGH]. <noise>, (uh) {laugh} <SIL>", "[laugh] <noise> (uh) {laugh} <sil>");
    becomes("he [door slams] he <door slams>. He {Door, he slams}",
            "he [door slams] he <door slams>. he {Door, he slams}");
    becomes("he (door slams) he", "he door slams he");
    becomes("[door he", "door he");
    becomes("[...] \u00ab[\u2026]\u00bb", "");
    end();
}

static void other_languages(void **state)
{
    (void)state;
    one("l' homme aujourd'hui qu' il est-ce que",
        "L\u2019homme, \u00ab aujourd\u2019hui \u00bb : qu'il\u00a0! Est-ce que",
        "l' homme aujourd'hui qu' il est-ce que");
    one("qu\u00e9 d\u00eda", "\u00a1\u00a1Qu\u00e9 d\u00eda!! \u00bfQU\u00c9?", "qu\u00e9 d\u00eda qu\u00e9");
    one("stra\u00dfe gro\u00df \u00fcber", "Stra\u00dfe, STRASSE \u201eGro\u00df\u201c \u00dcBER",
        "stra\u00dfe stra\u00dfe gro\u00df \u00fcber");
    one("istanbul \u0131l\u0131k i\u0307stanbul", "Istanbul \u0130stanbul. \u0131l\u0131k",
        "istanbul i\u0307stanbul \u0131l\u0131k");
    one("\u03bf\u03b4\u03cc\u03c2", "\u039f\u0394\u038c\u03a3\u00b7 \u03bf\u03b4\u03cc\u03c2;",
        "\u03bf\u03b4\u03cc\u03c2 \u03bf\u03b4\u03cc\u03c2");
    one("\u043c\u043e\u0441\u043a\u0432\u0430 \u0435\u0449\u0451",
        "\u2014 \u041c\u043e\u0441\u043a\u0432\u0430, \u0415\u0449\u0451\u2026",
        "\u043c\u043e\u0441\u043a\u0432\u0430 \u0435\u0449\u0451");
    one("\u0645\u0631\u062d\u0628\u064b\u0627",
        "\u0645\u0631\u062d\u0628\u064b\u0627\u061f \u0645\u0631\u062d\u0628\u0627\u060c",
        "\u0645\u0631\u062d\u0628\u064b\u0627 \u0645\u0631\u062d\u0628\u0627"); /* a vowel sign makes another word */
    one("\u0939\u093f\u0928\u094d\u0926\u0940 \u0939\u0948", "\u0939\u093f\u0928\u094d\u0926\u0940 \u0939\u0948\u0964",
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u0939\u0948");
    one("\u4f60\u597d \u4e16\u754c", "\u4f60\u597d\uff0c\u4e16\u754c\u3002 \u300c\u4f60\u597d\u300d",
        "\u4f60\u597d \u4e16\u754c \u4f60\u597d");
    one("caf\u00e9", "cafe\u0301 caf\u00e9. CAFE\u0301 cafe", "caf\u00e9 caf\u00e9 caf\u00e9 cafe");
    one("cafe\u0301", "cafe\u0301 caf\u00e9", "caf\u00e9 caf\u00e9");
    one("ti\u1ebfng vi\u1ec7t", "Ti\u1ebfng Vi\u1ec7t!", "ti\u1ebfng vi\u1ec7t");
}

static void tokens_and_their_words(void **state)
{
    (void)state;
    begin("twenty one year", NULL);
    becomes("\u2013 Twenty-one year. [x y]", "twenty one year [x y]");
    const uint32_t counts[] = {0, 2, 1, 1, 1};
    assert_int_equal(spoken.tokens, 5);
    assert_memory_equal(spoken.counts, counts, sizeof counts);
    size_t count;
    becomes("year.", "year");
    const trl__spoken_words *tokens = trl__written_tokens(written, &count);
    assert_int_equal(count, 3);
    assert_int_equal(tokens[0].change, TRL_TEXT_LEFT_OUT);
    assert_int_equal(tokens[1].change, TRL_TEXT_SPLIT);
    assert_int_equal(tokens[2].change, TRL_TEXT_MARKS);
    assert_int_equal(tokens[2].times, 2);
    end();
}

static void replacements(void **state)
{
    (void)state;
    static const char table[] = "1990\tnineteen NINETY\n\n&\tand\nmid\tin the middle\numm\t\nyear\tnever\n";
    temp_write("table", table, sizeof table - 1);
    begin("nineteen ninety and in the year's year", temp_path("table"));
    becomes("In 1990, & Mid-1990 umm year!", "in nineteen ninety and in the middle nineteen ninety year");
    const uint32_t counts[] = {1, 2, 1, 5, 0, 1};
    assert_memory_equal(spoken.counts, counts, sizeof counts);
    end();
}

static void refuse(const char *table, const char *message)
{
    temp_write("bad", table, strlen(table));
    trl__written_words *w;
    assert_int_equal(trl__written_create(lexicon, temp_path("bad"), &w, &err), TRL_EFORMAT);
    assert_null(w);
    if (!strstr(err.text, message))
        fail_msg("%s", err.text);
}

static void bad_replacements(void **state)
{
    (void)state;
    begin("a", NULL);
    refuse("1\ta\n2 a\n", "bad:2: no tab");
    refuse("1 2\ta\n", "bad:1: what stands before the tab must be one word");
    refuse("\ta\n", "bad:1: what stands before the tab");
    refuse("\xe2\x80\x99n\ta\n'n\ta\n", "bad:2: 'n has a replacement already");
    refuse("\xff\ta\n", "bad:1: not valid UTF-8");
    end();
}

static void long_tokens(void **state)
{
    (void)state;
    char token[3000], expected[3000];
    begin("a", NULL);
    memset(token, 'b', 2000);
    strcpy(token + 2000, ".");
    becomes(token, token); /* no word is as long as that: it stays */
    memset(token, '.', 200);
    strcpy(token + 200, "a");
    becomes(token, "a");
    for (int i = 0; i < 60; i++)
        strcpy(token + 2 * i, i < 59 ? "a-" : "a");
    becomes(token, strcpy(expected, token)); /* too many parts */
    token[2 * 10 - 1] = '\0';
    becomes(token, "a a a a a a a a a a");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_lexicon_has_stays),
        cmocka_unit_test(english),
        cmocka_unit_test(unknown_words),
        cmocka_unit_test(noises),
        cmocka_unit_test(other_languages),
        cmocka_unit_test(tokens_and_their_words),
        cmocka_unit_test(replacements),
        cmocka_unit_test(bad_replacements),
        cmocka_unit_test(long_tokens),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
