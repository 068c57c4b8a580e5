/* Pictures of transducers in Graphviz's language, laid out as OpenFst's are: the start bold, final states double. */
#include "base/dot_text.h"
#include "base/fail.h"
#include "base/text_file.h"
#include "fst/fst_data.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <string.h>

typedef struct drawing {
    const trl_fst *fst;
    trl_fst_draw_options options;
    trl_file *file;
    trl_error *err;
} drawing;

static int put_quoted(const drawing *d, const char *text)
{
    return trl__dot_text(d->file, text, strlen(text), d->err);
}

static int put_label(const drawing *d, const trl_symbols *symbols, int32_t label)
{
    char number[16];
    const char *text = trl__label_text(symbols, label, number);
    if (!text)
        return trl__fail(d->err, TRL_EINVAL, "%" PRId32 " has no name in the symbol table %s; draw numbers", label,
                         trl_symbols_title(symbols));
    return put_quoted(d, text);
}

static int put_weight(const drawing *d, trl_weight weight)
{
    char text[64];
    trl_weight one = trl_weight_one(d->fst->semiring);
    if (!d->options.show_weight_one && weight.value == one.value && weight.second == one.second)
        return 0;
    trl__weight_text(d->fst->semiring, weight, d->options.precision, text);
    return trl_file_print(d->file, d->err, "/%s", text);
}

static int draw_arc(const drawing *d, int32_t state, trl_arc arc)
{
    int code = trl_file_print(d->file, d->err, "\t%" PRId32 " -> %" PRId32 " [label = \"", state, arc.next);
    if (code == 0)
        code = put_label(d, d->options.isymbols, arc.ilabel);
    if (code == 0 && !d->options.acceptor)
        code = trl_file_write(d->file, ":", 1, d->err);
    if (code == 0 && !d->options.acceptor)
        code = put_label(d, d->options.osymbols, arc.olabel);
    if (code == 0)
        code = put_weight(d, arc.weight);
    return code < 0 ? code : trl_file_print(d->file, d->err, "\", fontsize = %d];\n", d->options.font_size);
}

static int draw_state(const drawing *d, int32_t state)
{
    trl_weight final = trl_fst_final(d->fst, state);
    int is_final = !trl_weight_is_zero(d->fst->semiring, final);
    int code = trl_file_print(d->file, d->err, "%" PRId32 " [label = \"%" PRId32, state, state);
    if (code == 0 && is_final)
        code = put_weight(d, final);
    if (code == 0)
        code = trl_file_print(d->file, d->err, "\", shape = %s, style = %s, fontsize = %d]\n",
                              is_final ? "doublecircle" : "circle", state == d->fst->start ? "bold" : "solid",
                              d->options.font_size);
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(d->fst, state); i++)
        code = draw_arc(d, state, trl_fst_arc(d->fst, state, i));
    return code;
}

static int draw_heading(const drawing *d)
{
    const trl_fst_draw_options *o = &d->options;
    char numbers[4][32];
    const double values[4] = {o->width, o->height, o->rank_distance, o->node_distance};
    for (int i = 0; i < 4; i++)
        trl__format_digits((float)values[i], o->precision, numbers[i]);
    int code = trl_file_print(d->file, d->err, "digraph FST {\nrankdir = %s;\nsize = \"%s,%s\";\n",
                              o->vertical ? "BT" : "LR", numbers[0], numbers[1]);
    if (code == 0 && o->title && *o->title) {
        code = trl_file_print(d->file, d->err, "label = \"");
        if (code == 0)
            code = put_quoted(d, o->title);
        if (code == 0)
            code = trl_file_print(d->file, d->err, "\";\n");
    }
    if (code == 0)
        code = trl_file_print(d->file, d->err, "center = 1;\norientation = %s;\nranksep = \"%s\";\nnodesep = \"%s\";\n",
                              o->portrait ? "Portrait" : "Landscape", numbers[2], numbers[3]);
    return code;
}

static int draw(const drawing *d)
{
    int32_t start = d->fst->start;
    if (start == TRL_NO_STATE)
        return 0;
    int code = draw_heading(d);
    if (code == 0)
        code = draw_state(d, start);
    for (int32_t s = 0; code == 0 && s < d->fst->states; s++)
        if (s != start)
            code = draw_state(d, s);
    return code < 0 ? code : trl_file_print(d->file, d->err, "}\n");
}

int trl_fst_draw(const trl_fst *fst, const char *path, const trl_fst_draw_options *options, trl_error *err)
{
    static const trl_fst_draw_options no_options;
    drawing d = {.fst = fst, .options = options ? *options : no_options, .err = err};
    trl_fst_draw_options *o = &d.options;
    o->isymbols = o->numeric ? NULL : o->isymbols ? o->isymbols : fst->isymbols;
    o->osymbols = o->numeric ? NULL : o->osymbols ? o->osymbols : fst->osymbols;
    o->acceptor = o->acceptor && trl__fst_is_acceptor(fst);
    o->font_size = o->font_size > 0 ? o->font_size : 14;
    o->precision = o->precision > 0 && o->precision < 10 ? o->precision : 5;
    o->width = o->width > 0 ? o->width : 8.5;
    o->height = o->height > 0 ? o->height : 11;
    o->rank_distance = o->rank_distance > 0 ? o->rank_distance : 0.4;
    o->node_distance = o->node_distance > 0 ? o->node_distance : 0.25;
    int code = trl_file_create(path, &d.file, err);
    if (code < 0)
        return code;
    code = draw(&d);
    if (code == 0)
        return trl_file_commit(d.file, err);
    trl_file_abort(d.file);
    return code;
}
