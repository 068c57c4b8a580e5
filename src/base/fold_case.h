/* Capitals into small letters. */
#ifndef TRL_BASE_FOLD_CASE_H
#define TRL_BASE_FOLD_CASE_H

/* In place, UTF-8, whatever the locale; the length stays. The letters of ASCII, Latin-1, Latin Extended-A (Turkish's
 * dotted capital I aside), Greek and Cyrillic become small; all others stay. */
void trl__fold_case(char *text);

#endif
