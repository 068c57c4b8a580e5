/* Symbols and numbers of HTK's model files, in text or binary form. */
#include "model/htk_mmf.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME(symbol) [MMF_##symbol] = #symbol

static const char *const names[MMF_SYMBOLS] = {
    NAME(BEGINHMM), NAME(USE),      NAME(ENDHMM),      NAME(NUMMIXES),   NAME(NUMSTATES), NAME(STREAMINFO),
    NAME(VECSIZE),  NAME(NULLD),    NAME(POISSOND),    NAME(GAMMAD),     NAME(RELD),      NAME(GEND),
    NAME(DIAGC),    NAME(FULLC),    NAME(XFORMC),      NAME(STATE),      NAME(TMIX),      NAME(MIXTURE),
    NAME(STREAM),   NAME(SWEIGHTS), NAME(MEAN),        NAME(VARIANCE),   NAME(INVCOVAR),  NAME(XFORM),
    NAME(GCONST),   NAME(DURATION), NAME(INVDIAGC),    NAME(TRANSP),     NAME(DPROB),     NAME(LLTC),
    NAME(LLTCOVAR), NAME(PROJSIZE), NAME(PARENTXFORM), NAME(INPUTXFORM), NAME(RCLASS),    NAME(HMMSETID)};

const char *trl__mmf_symbol_name(int symbol)
{
    return symbol >= 0 && symbol < MMF_SYMBOLS ? names[symbol] : NULL;
}

int trl__mmf_fail(const trl__mmf_scan *scan, trl_error *err, int code, const char *format, ...)
{
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *at = scan->at ? scan->at : scan->begin;
    if (scan->binary_seen)
        return trl__fail_byte(err, code, scan->name, (uint64_t)(at - scan->begin), "%s", text);
    int64_t line = 1;
    for (const char *p = scan->begin; p < at; p++)
        line += *p == '\n';
    return trl__fail_line(err, code, scan->name, line, "%s", text);
}

static void skip_blanks(trl__mmf_scan *scan)
{
    while (scan->place < scan->end && trl__is_space(*scan->place))
        scan->place++;
}

static int ends_early(trl__mmf_scan *scan, trl_error *err)
{
    scan->at = scan->end;
    return trl__mmf_fail(scan, err, TRL_ECORRUPT, "the file ends in the middle of a definition");
}

/* Is this one of HTK's parameter kinds, with or without qualifiers? */
static int is_kind(const char *word)
{
    static const char *const kinds[] = {"WAVEFORM", "LPC",     "LPREFC", "LPCEPSTRA", "LPDELCEP", "IREFC", "MFCC",
                                        "FBANK",    "MELSPEC", "USER",   "DISCRETE",  "PLP",      "ANON"};
    size_t length = strcspn(word, "_");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && strncasecmp(word, kinds[i], length) == 0)
            return 1;
    return 0;
}

/* <NAME> */
static int next_word(trl__mmf_scan *scan, trl_error *err)
{
    size_t length = 0;
    while (scan->place < scan->end && *scan->place != '>' && length < TRL__MMF_WORD - 1)
        scan->word[length++] = *scan->place++;
    scan->word[length] = '\0';
    if (scan->place == scan->end)
        return ends_early(scan, err);
    if (*scan->place++ != '>')
        return trl__mmf_fail(scan, err, TRL_EFORMAT, "a symbol without '>' at its end");
    for (scan->symbol = 0; scan->symbol < MMF_SYMBOLS; scan->symbol++)
        if (names[scan->symbol] && strcasecmp(scan->word, names[scan->symbol]) == 0)
            return 0;
    scan->symbol = MMF_KIND;
    return is_kind(scan->word) ? 0 : trl__mmf_fail(scan, err, TRL_EUNSUPPORTED, "unknown symbol <%s>", scan->word);
}

/* A colon and a byte. */
static int next_code(trl__mmf_scan *scan, trl_error *err)
{
    if (scan->place == scan->end)
        return ends_early(scan, err);
    scan->binary = scan->binary_seen = 1;
    scan->symbol = (unsigned char)*scan->place++;
    const char *name = trl__mmf_symbol_name(scan->symbol);
    if (!name)
        return trl__mmf_fail(scan, err, TRL_EUNSUPPORTED, "unknown binary symbol %d", scan->symbol);
    snprintf(scan->word, sizeof scan->word, "%s", name);
    return 0;
}

int trl__mmf_next(trl__mmf_scan *scan, trl_error *err)
{
    skip_blanks(scan);
    scan->at = scan->place;
    scan->binary = 0;
    scan->word[0] = '\0';
    if (scan->place == scan->end) {
        scan->symbol = MMF_END;
        return 0;
    }
    switch (*scan->place++) {
    case '<': return next_word(scan, err);
    case ':': return next_code(scan, err);
    case '~':
        if (scan->place == scan->end)
            return ends_early(scan, err);
        scan->symbol = MMF_MACRO;
        scan->macro = *scan->place++;
        return 0;
    default: return trl__mmf_fail(scan, err, TRL_EFORMAT, "expected a symbol (<NAME>) or a macro (~)");
    }
}

int trl__mmf_string(trl__mmf_scan *scan, char out[TRL__HTK_STRING], trl_error *err)
{
    skip_blanks(scan);
    if (scan->place == scan->end)
        return ends_early(scan, err);
    if (trl__htk_read_string(&scan->place, scan->end, out, NULL) < 0 || *out == '\0')
        return trl__mmf_fail(scan, err, TRL_EFORMAT,
                             "expected a name of at most %d bytes, with the quote at its end too", TRL__HTK_STRING - 1);
    return 0;
}

/* The word of a number in text form: up to a blank or the next symbol. */
static int number_word(trl__mmf_scan *scan, char word[TRL__MMF_WORD], trl_error *err)
{
    size_t length = 0;
    skip_blanks(scan);
    scan->at = scan->place;
    while (scan->place < scan->end && !trl__is_space(*scan->place) && !strchr("<~:", *scan->place) &&
           length < TRL__MMF_WORD - 1)
        word[length++] = *scan->place++;
    word[length] = '\0';
    if (scan->place == scan->end && length == 0)
        return ends_early(scan, err);
    return 0;
}

int trl__mmf_short(trl__mmf_scan *scan, int32_t least, int32_t *out, trl_error *err)
{
    int64_t value = 0;
    if (scan->binary) {
        if (scan->end - scan->place < 2)
            return ends_early(scan, err);
        value = (int16_t)trl__be16((const unsigned char *)scan->place);
        scan->at = scan->place;
        scan->place += 2;
    } else {
        char word[TRL__MMF_WORD];
        int code = number_word(scan, word, err);
        if (code < 0)
            return code;
        if (trl__parse_int(word, &value) < 0)
            return trl__mmf_fail(scan, err, TRL_EFORMAT, "expected a whole number, found '%s'", word);
    }
    if (value < least || value > INT16_MAX)
        return trl__mmf_fail(scan, err, TRL_EFORMAT, "%" PRId64 " must be from %" PRId32 " to %d", value, least,
                             INT16_MAX);
    *out = (int32_t)value;
    return 0;
}

int trl__mmf_float(trl__mmf_scan *scan, float *out, trl_error *err)
{
    if (scan->binary) {
        if (scan->end - scan->place < 4)
            return ends_early(scan, err);
        *out = trl__float_of_bits(trl__be32((const unsigned char *)scan->place));
        scan->at = scan->place;
        scan->place += 4;
        return isfinite(*out) ? 0 : trl__mmf_fail(scan, err, TRL_ENUMBER, "a number that is not finite");
    }
    char word[TRL__MMF_WORD];
    double value;
    int code = number_word(scan, word, err);
    if (code < 0)
        return code;
    if (trl__parse_double(word, &value) < 0)
        return trl__mmf_fail(scan, err, TRL_EFORMAT, "expected a number, found '%s'", word);
    if (fabs(value) > 3.4028234e38)
        return trl__mmf_fail(scan, err, TRL_ENUMBER, "%s is too large for a float", word);
    *out = (float)value;
    return 0;
}

int trl__mmf_floats(trl__mmf_scan *scan, size_t count, trl__arena *arena, float **out, trl_error *err)
{
    size_t least = scan->binary ? 4 : 1; /* bytes per number */
    if (count > (size_t)(scan->end - scan->place) / least)
        return ends_early(scan, err);
    float *numbers = trl__arena_alloc(arena, (count + 1) * sizeof *numbers);
    if (!numbers)
        return trl__fail_memory(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl__mmf_float(scan, &numbers[i], err);
    *out = numbers;
    return code;
}
