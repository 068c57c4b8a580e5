/* The JSpeech Grammar Format, V1.0 (Sun Microsystems 1998), into a tree: a scanner that knows line and column, and a parser of
 * one function for each rule of the format. Only brackets make it recursive, and they are limited. */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/grammar_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEADER "#JSGF"
#define SPECIAL ";=|*+<>()[]{}/\\\"" /* what words without quotes do not have */
#define NONE (-1)

typedef enum token_kind { END, WORD, NAME, WEIGHT, TAG, SIGN } token_kind;

typedef struct token {
    token_kind kind;
    char sign;        /* of SIGN */
    const char *text; /* of a word or a name, without quotes and brackets */
    size_t length;
    int quoted;
    double weight;
    int32_t line, column;
} token;

typedef struct parser {
    trl__jsgf *grammar;
    trl_symbols *words;
    int add_words;
    const char *at, *end;
    int32_t line, column; /* of *at */
    token now;            /* the next to be used */
    char *spelling;       /* of it, as a string */
    size_t capacity;
    const char *title; /* of the grammar */
    int depth;
    trl_error *err;
} parser;

/* ---- Places ---- */

static int fail_at(const parser *p, int32_t line, int32_t column, int code, const char *format, ...) TRL_PRINTF(5, 6);
static int fail_at(const parser *p, int32_t line, int32_t column, int code, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return trl__fail(p->err, code, "%s:%d:%d: %s", p->grammar->name, (int)line, (int)column, text);
}

/* clang's analyzer learns that a failure is never 0. */
#define FAIL(p, ...) (fail_at((p), (p)->now.line, (p)->now.column, TRL_EFORMAT, __VA_ARGS__), TRL_EFORMAT)
#define FAIL_HERE(p, ...) (fail_at((p), (p)->line, (p)->column, TRL_EFORMAT, __VA_ARGS__), TRL_EFORMAT)

/* One byte further; a character's later bytes do not count as columns. */
static void step(parser *p)
{
    unsigned char c = (unsigned char)*p->at++;
    if (c == '\n') {
        p->line++;
        p->column = 1;
    } else if (p->at == p->end || ((unsigned char)*p->at & 0xC0) != 0x80) {
        p->column++;
    }
}

static void steps(parser *p, size_t count)
{
    while (count-- > 0)
        step(p);
}

static int sees(const parser *p, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(p->end - p->at) >= length && memcmp(p->at, text, length) == 0;
}

/* ---- Tokens ---- */

static int skip_blanks(parser *p)
{
    while (p->at < p->end) {
        if (trl__is_space(*p->at)) {
            step(p);
        } else if (sees(p, "//")) {
            while (p->at < p->end && *p->at != '\n')
                step(p);
        } else if (sees(p, "/*")) {
            int32_t line = p->line, column = p->column;
            steps(p, 2);
            while (p->at < p->end && !sees(p, "*/"))
                step(p);
            if (p->at == p->end)
                return fail_at(p, line, column, TRL_EFORMAT, "this comment has no end");
            steps(p, 2);
        } else {
            return 0;
        }
    }
    return 0;
}

/* Up to the sign that closes it, which a backslash before it hides; the text is what stands between. */
static int scan_closed(parser *p, token_kind kind, char closing, const char *what)
{
    step(p);
    p->now.kind = kind;
    p->now.text = p->at;
    while (p->at < p->end && *p->at != closing) {
        if (*p->at == '\\' && p->at + 1 < p->end)
            step(p);
        step(p);
    }
    if (p->at == p->end)
        return FAIL(p, "this %s has no end: there is no %c", what, closing);
    p->now.length = (size_t)(p->at - p->now.text);
    step(p);
    return 0;
}

static int scan_weight(parser *p)
{
    char number[32];
    int code = scan_closed(p, WEIGHT, '/', "weight");
    if (code < 0)
        return code;
    if (p->now.length < sizeof number) {
        memcpy(number, p->now.text, p->now.length);
        number[p->now.length] = '\0';
        if (trl__parse_double(trl__trim(number), &p->now.weight) == 0 && p->now.weight >= 0 && p->now.weight <= 1e30)
            return 0;
    }
    return FAIL(p, "/%.*s/ is no weight; one is a number that is not negative",
                p->now.length < 40 ? (int)p->now.length : 40, p->now.text);
}

static int scan_name(parser *p)
{
    int code = scan_closed(p, NAME, '>', "name of a rule");
    if (code < 0)
        return code;
    token *t = &p->now;
    while (t->length > 0 && trl__is_space(*t->text))
        t->text++, t->length--;
    while (t->length > 0 && trl__is_space(t->text[t->length - 1]))
        t->length--;
    for (size_t i = 0; i < t->length; i++)
        if (trl__is_space(t->text[i]) || strchr(SPECIAL, t->text[i]))
            return FAIL(p, "the name of a rule has no blanks and none of %s", SPECIAL);
    return t->length ? 0 : FAIL(p, "a rule without a name");
}

static int scan_word(parser *p)
{
    p->now.kind = WORD;
    p->now.text = p->at;
    while (p->at < p->end && !trl__is_space(*p->at) && !strchr(SPECIAL, *p->at))
        step(p);
    p->now.length = (size_t)(p->at - p->now.text);
    return p->now.length ? 0 : FAIL(p, "a %c outside quotes", *p->at);
}

static int advance(parser *p)
{
    int code = skip_blanks(p);
    if (code < 0)
        return code;
    p->now = (token){.kind = END, .line = p->line, .column = p->column};
    if (p->at == p->end)
        return 0;
    switch (*p->at) {
    case '"': p->now.quoted = 1; return scan_closed(p, WORD, '"', "quoted word");
    case '<': return scan_name(p);
    case '/': return scan_weight(p);
    case '{': return scan_closed(p, TAG, '}', "tag");
    case ';':
    case '=':
    case '|':
    case '*':
    case '+':
    case '(':
    case ')':
    case '[':
    case ']':
        p->now.kind = SIGN;
        p->now.sign = *p->at;
        step(p);
        return 0;
    default: return scan_word(p);
    }
}

static int is_sign(const parser *p, char sign)
{
    return p->now.kind == SIGN && p->now.sign == sign;
}

static int is_word(const parser *p, const char *text)
{
    return p->now.kind == WORD && p->now.length == strlen(text) && memcmp(p->now.text, text, p->now.length) == 0;
}

static int expect_sign(parser *p, char sign, const char *where)
{
    return is_sign(p, sign) ? advance(p) : FAIL(p, "expected a %c %s", sign, where);
}

/* The word or name in hand as a string, in p->spelling; a quoted one without its backslashes. */
static int spell(parser *p)
{
    const token *t = &p->now;
    size_t length = 0;
    if (TRL_GROW(p->spelling, p->capacity, t->length + 1) < 0)
        return trl__fail_memory(p->err);
    for (size_t i = 0; i < t->length; i++) {
        if (t->quoted && t->text[i] == '\\' && i + 1 < t->length)
            i++;
        p->spelling[length++] = t->text[i];
    }
    p->spelling[length] = '\0';
    if (length == 0)
        return FAIL(p, "an empty word");
    if (t->quoted && strcspn(p->spelling, " \t\r\n\f\v") < length)
        return FAIL(p, "a word with blanks in it; without the quotes it is several words");
    return 0;
}

/* ---- The tree ---- */

/* Returns the node's number or an error. */
static int32_t add_node(parser *p, trl__jsgf_kind kind, int32_t value, int32_t child)
{
    trl__jsgf *g = p->grammar;
    if (g->count == INT32_MAX || TRL_GROW(g->nodes, g->capacity, g->count + 1) < 0)
        return trl__fail_memory(p->err);
    g->nodes[g->count] = (trl__jsgf_node){.kind = kind,
                                          .value = value,
                                          .child = child,
                                          .next = NONE,
                                          .line = p->now.line,
                                          .column = p->now.column,
                                          .weight = 1};
    return (int32_t)g->count++;
}

static void append(parser *p, int32_t parent, int32_t *last, int32_t child)
{
    *(*last == NONE ? &p->grammar->nodes[parent].child : &p->grammar->nodes[*last].next) = child;
    *last = child;
}

/* The number of the rule whose name is in hand; of a name like <grammar.rule> the grammar must be this one. */
static int32_t rule_number(parser *p)
{
    trl__jsgf *g = p->grammar;
    const char *text = p->now.text;
    size_t length = p->now.length, title = p->title ? strlen(p->title) : 0;
    if (title && length > title + 1 && memcmp(text, p->title, title) == 0 && text[title] == '.') {
        text += title + 1;
        length -= title + 1;
    }
    size_t before = g->names.count;
    long number = trl__strings_add(&g->names, text, length);
    if (number < 0 || number > INT32_MAX || TRL_GROW(g->rules, g->rule_capacity, g->names.count) < 0)
        return trl__fail_memory(p->err);
    if (g->names.count > before)
        g->rules[number] = (trl__jsgf_rule){.node = NONE};
    return (int32_t)number;
}

/* ---- The parser ---- */

static int32_t parse_choice(parser *p);

static int32_t parse_word(parser *p)
{
    int32_t label = TRL_NO_LABEL;
    int code = spell(p);
    if (code == 0)
        code = trl__grammar_label(p->words, p->add_words, p->spelling, &label, p->err);
    if (code == 0 && label == TRL_NO_LABEL)
        code = FAIL(p, "unknown word \"%s\"", p->spelling);
    if (code < 0)
        return code;
    int32_t node = add_node(p, TRL__JSGF_WORD, label, NONE);
    code = node < 0 ? node : advance(p);
    return code < 0 ? code : node;
}

static int32_t parse_name(parser *p)
{
    const token *t = &p->now;
    int special = t->length == 4 && memcmp(t->text, "NULL", 4) == 0   ? TRL__JSGF_NULL
                  : t->length == 4 && memcmp(t->text, "VOID", 4) == 0 ? TRL__JSGF_VOID
                                                                      : NONE;
    int32_t rule = special == NONE ? rule_number(p) : 0;
    if (rule < 0)
        return rule;
    int32_t node = add_node(p, special == NONE ? TRL__JSGF_RULE : (trl__jsgf_kind)special, rule, NONE);
    int code = node < 0 ? node : advance(p);
    return code < 0 ? code : node;
}

/* ( … ) or [ … ] */
static int32_t parse_group(parser *p)
{
    int optional = is_sign(p, '[');
    token opening = p->now;
    if (p->depth++ == TRL__JSGF_DEEPEST)
        return fail_at(p, opening.line, opening.column, TRL_ELIMIT, "brackets more than %d deep", TRL__JSGF_DEEPEST);
    int code = advance(p);
    int32_t node = code < 0 ? code : parse_choice(p);
    if (node < 0)
        return node;
    if (!is_sign(p, optional ? ']' : ')'))
        return FAIL(p, "expected a %c, for the %c of %d:%d", optional ? ']' : ')', opening.sign, (int)opening.line,
                    (int)opening.column);
    code = advance(p);
    p->depth--;
    if (code < 0)
        return code;
    return optional ? add_node(p, TRL__JSGF_OPTIONAL, 0, node) : node;
}

static int skip_tags(parser *p)
{
    int code = 0;
    while (code == 0 && p->now.kind == TAG)
        code = advance(p);
    return code;
}

/* A word, a rule or a group, with its tags and its * or +. */
static int32_t parse_item(parser *p)
{
    int32_t node = p->now.kind == WORD                  ? parse_word(p)
                   : p->now.kind == NAME                ? parse_name(p)
                   : is_sign(p, '(') || is_sign(p, '[') ? parse_group(p)
                   : p->now.kind == WEIGHT              ? FAIL(p, "a weight stands at the beginning of an alternative")
                   : p->now.kind == TAG                 ? FAIL(p, "a tag stands behind what it belongs to")
                   : p->now.kind == END                 ? FAIL(p, "the file ends within a rule")
                                                        : FAIL(p, "a %c where a word or rule should be", p->now.sign);
    int code = node < 0 ? node : skip_tags(p);
    if (code < 0)
        return code;
    if (is_sign(p, '*') || is_sign(p, '+')) {
        node = add_node(p, is_sign(p, '*') ? TRL__JSGF_STAR : TRL__JSGF_PLUS, 0, node);
        code = node < 0 ? node : advance(p);
        if (code == 0)
            code = skip_tags(p);
    }
    return code < 0 ? code : node;
}

static int ends_alternative(const parser *p)
{
    return p->now.kind == SIGN && strchr(";|)]", p->now.sign);
}

/* [/weight/] item … */
static int32_t parse_alternative(parser *p)
{
    double weight = 1;
    int code = 0;
    if (p->now.kind == WEIGHT) {
        weight = p->now.weight;
        code = advance(p);
    }
    if (code == 0 && ends_alternative(p))
        code = FAIL(p, "an empty alternative; write <NULL> for the empty string");
    int32_t sequence = code < 0 ? code : add_node(p, TRL__JSGF_SEQUENCE, 0, NONE), last = NONE;
    if (sequence < 0)
        return sequence;
    p->grammar->nodes[sequence].weight = weight;
    do {
        int32_t item = parse_item(p);
        if (item < 0)
            return item;
        append(p, sequence, &last, item);
    } while (!ends_alternative(p));
    return sequence;
}

/* alternative | alternative … */
static int32_t parse_choice(parser *p)
{
    int32_t choice = add_node(p, TRL__JSGF_CHOICE, 0, NONE), last = NONE;
    int code = choice;
    double all = 0;
    for (; code >= 0; code = advance(p)) {
        int32_t alternative = parse_alternative(p);
        if (alternative < 0)
            return alternative;
        append(p, choice, &last, alternative);
        all += p->grammar->nodes[alternative].weight;
        if (is_sign(p, '|'))
            continue;
        const trl__jsgf_node *n = &p->grammar->nodes[choice];
        return all > 0 ? choice : fail_at(p, n->line, n->column, TRL_EFORMAT, "all alternatives have the weight 0");
    }
    return code;
}

/* [public] <name> = choice ; */
static int parse_rule(parser *p)
{
    int is_public = is_word(p, "public"), code = is_public ? advance(p) : 0;
    if (code < 0)
        return code;
    if (p->now.kind != NAME)
        return FAIL(p, "expected a rule, as in \"public <name> = …;\"");
    token name = p->now;
    int32_t rule = rule_number(p);
    if (rule < 0)
        return rule;
    const char *spelled = p->grammar->names.texts[rule];
    if (strcmp(spelled, "NULL") == 0 || strcmp(spelled, "VOID") == 0)
        return FAIL(p, "<%s> has its own meaning and can't be defined", spelled);
    if (p->grammar->rules[rule].node != NONE)
        return FAIL(p, "<%s> is defined twice", spelled);
    code = advance(p);
    if (code == 0)
        code = expect_sign(p, '=', "after the rule's name");
    int32_t node = code < 0 ? code : parse_choice(p);
    if (node < 0)
        return node;
    p->grammar->rules[rule] = (trl__jsgf_rule){.node = node, .is_public = is_public};
    p->grammar->nodes[node].line = name.line;
    p->grammar->nodes[node].column = name.column;
    return expect_sign(p, ';', "at the end of a rule");
}

/* "#JSGF V1.0 UTF-8 en;" */
static int parse_header(parser *p)
{
    if (!sees(p, HEADER))
        return FAIL_HERE(p, "a grammar begins with \"#JSGF V1.0;\"");
    steps(p, strlen(HEADER));
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
        step(p);
    if (!sees(p, "V1") && !sees(p, "v1"))
        return FAIL_HERE(p, "expected the version V1.0");
    while (p->at < p->end && *p->at != ';' && *p->at != '\n')
        step(p);
    if (p->at == p->end || *p->at != ';')
        return FAIL_HERE(p, "expected a ; at the end of the header");
    step(p);
    return advance(p);
}

/* "grammar com.example.name;" */
static int parse_title(parser *p)
{
    if (!is_word(p, "grammar"))
        return FAIL(p, "expected the grammar's name, as in \"grammar commands;\"");
    int code = advance(p);
    if (code == 0 && p->now.kind != WORD)
        code = FAIL(p, "expected the grammar's name");
    if (code == 0)
        code = spell(p);
    if (code < 0)
        return code;
    const char *dot = strrchr(p->spelling, '.'); /* the rest is its package */
    long title = trl__strings_add(&p->grammar->names, dot ? dot + 1 : p->spelling, strlen(dot ? dot + 1 : p->spelling));
    if (title < 0 || TRL_GROW(p->grammar->rules, p->grammar->rule_capacity, 1) < 0)
        return trl__fail_memory(p->err);
    p->grammar->rules[title] = (trl__jsgf_rule){.node = NONE};
    p->title = p->grammar->names.texts[title];
    code = advance(p);
    return code < 0 ? code : expect_sign(p, ';', "after the grammar's name");
}

static int parse_all(parser *p)
{
    int code = skip_blanks(p);
    if (code == 0)
        code = parse_header(p);
    if (code == 0)
        code = parse_title(p);
    while (code == 0 && p->now.kind != END) {
        if (is_word(p, "import"))
            return fail_at(p, p->now.line, p->now.column, TRL_EUNSUPPORTED,
                           "imports are not supported; put the rules into this file");
        code = parse_rule(p);
    }
    return code;
}

int trl__jsgf_parse(const char *name, const trl__text *text, trl_symbols *words, int add_words, trl__jsgf *out,
                    trl_error *err)
{
    *out = (trl__jsgf){.name = name};
    parser p = {.grammar = out,
                .words = words,
                .add_words = add_words,
                .at = text->bytes + text->position,
                .end = text->bytes + text->size,
                .line = 1,
                .column = 1,
                .err = err};
    size_t size = (size_t)(p.end - p.at), valid = trl__utf8_check(p.at, size);
    if (valid < size) {
        steps(&p, valid);
        return FAIL_HERE(&p, "this is not UTF-8; save the grammar in that encoding");
    }
    int code = parse_all(&p);
    trl__free(p.spelling);
    return code;
}

void trl__jsgf_free(trl__jsgf *grammar)
{
    trl__strings_free(&grammar->names);
    trl__free(grammar->rules);
    trl__free(grammar->nodes);
}
