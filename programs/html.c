#include "html.h"

#include <math.h>
#include <string.h>

#define NOTHING "–"

void html_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default:
            if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t')
                fputc(*text, out);
            else
                fputs("&#xfffd;", out); /* HTML has no other control characters */
        }
}

void html_count(FILE *out, double value)
{
    char digits[400];
    if (!isfinite(value)) {
        fputs(NOTHING, out);
        return;
    }
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    if (value <= -0.5)
        fputs("−", out);
    for (int i = 0; i < length; i++) {
        fputc(digits[i], out);
        if (i + 1 < length && (length - i - 1) % 3 == 0)
            fputc(',', out);
    }
}

void html_number(FILE *out, double value, int digits)
{
    if (isfinite(value))
        fprintf(out, "%s%.*f", value < 0 ? "−" : "", digits, fabs(value));
    else
        fputs(NOTHING, out);
}

void html_time(FILE *out, double seconds)
{
    if (!(seconds >= 0 && seconds < 1e12))
        fputs(NOTHING, out);
    else if (seconds < 100)
        fprintf(out, "%.1f s", seconds);
    else if (seconds < 3600)
        fprintf(out, "%.0f min %.0f s", floor(seconds / 60), floor(fmod(seconds, 60)));
    else
        fprintf(out, "%.0f h %.0f min", floor(seconds / 3600), floor(fmod(seconds, 3600) / 60));
}

void html_count_cell(FILE *out, double value)
{
    fputs("<td>", out);
    html_count(out, value);
}

void html_number_cell(FILE *out, double value, int digits)
{
    fputs("<td>", out);
    html_number(out, value, digits);
}

void html_text_cell(FILE *out, const char *text)
{
    fputs("<td class=text>", out);
    html_text(out, text);
}

void html_head(FILE *out, const char *const *columns)
{
    fputs("<thead><tr>", out);
    for (; *columns; columns++)
        fprintf(out, "<th scope=col>%s", *columns);
    fputs("</thead>\n", out);
}
