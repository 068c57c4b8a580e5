/* The alphabets with capitals that UTF-8 writes in two bytes, so that folding never changes the length of a text. A block is a range of
 * capitals and how far their small letters are away; where capitals and small letters alternate, every other letter is one. */
#include "base/fold_case.h"

#include <stddef.h>

typedef struct block {
    unsigned short first, last; /* code points */
    unsigned char step;         /* 2: every other one is a capital */
    unsigned char distance;
} block;

static const block blocks[] = {
    {0xC0, 0xD6, 1, 32},   {0xD8, 0xDE, 1, 32},                                                 /* Latin-1 */
    {0x100, 0x12E, 2, 1},  {0x132, 0x136, 2, 1},  {0x139, 0x147, 2, 1},                         /* Latin Extended-A */
    {0x14A, 0x176, 2, 1},  {0x179, 0x17D, 2, 1},                                                /* … without U+0178 */
    {0x386, 0x386, 1, 38}, {0x388, 0x38A, 1, 37}, {0x38C, 0x38C, 1, 64}, {0x38E, 0x38F, 1, 63}, /* Greek with accents */
    {0x391, 0x3A1, 1, 32}, {0x3A3, 0x3AB, 1, 32},                                               /* Greek */
    {0x400, 0x40F, 1, 80}, {0x410, 0x42F, 1, 32}, {0x460, 0x480, 2, 1},                         /* Cyrillic */
    {0x48A, 0x4BE, 2, 1},  {0x4C0, 0x4C0, 1, 15}, {0x4C1, 0x4CD, 2, 1},  {0x4D0, 0x52E, 2, 1},
};

static unsigned small(unsigned letter)
{
    if (letter == 0x178) /* the small one is in Latin-1 */
        return 0xFF;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (letter >= blocks[i].first && letter <= blocks[i].last && (letter - blocks[i].first) % blocks[i].step == 0)
            return letter + blocks[i].distance;
    return letter;
}

void trl__fold_case(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c += 'a' - 'A';
        if (*c < 0xC3 || *c > 0xDF || (c[1] & 0xC0) != 0x80)
            continue;
        unsigned letter = small((*c & 0x1Fu) << 6 | (c[1] & 0x3Fu));
        *c++ = (unsigned char)(0xC0 | letter >> 6);
        *c = (unsigned char)(0x80 | (letter & 0x3F));
    }
}
