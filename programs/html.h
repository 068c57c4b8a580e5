/* Pieces of HTML. All text from outside goes through html_text. */
#ifndef TRELLIS_HTML_H
#define TRELLIS_HTML_H

#include <stdio.h>

/* Text as text, whatever stands in it. */
void html_text(FILE *out, const char *text);

/* 12,345; a dash for what is no finite number. */
void html_count(FILE *out, double value);

/* With so many digits behind the point. */
void html_number(FILE *out, double value, int digits);

/* Seconds as 12.3 s, 4 min 5 s, 6 h 7 min. */
void html_time(FILE *out, double seconds);

/* Cells of a table. */
void html_count_cell(FILE *out, double value);
void html_number_cell(FILE *out, double value, int digits);
void html_text_cell(FILE *out, const char *text);

/* <thead> with a heading per column; the list ends with NULL. */
void html_head(FILE *out, const char *const *columns);

#endif
