#include "corpus/token_marks.h"
#include "base/unicode.h"

#include <string.h>

typedef struct block {
    int32_t first, last;
} block;

static int is_in(const block *blocks, size_t count, int32_t letter)
{
    for (size_t i = 0; i < count; i++)
        if (letter >= blocks[i].first && letter <= blocks[i].last)
            return 1;
    return 0;
}
#define IS_IN(blocks, letter) is_in(blocks, sizeof(blocks) / sizeof *(blocks), letter)

int trl__is_mark(int32_t letter)
{
    static const block spoken[] = {{'#', '#'}, {'%', '&'}, {'@', '@'}, {0xA7, 0xA7}, {0x2030, 0x2031}};
    static const block more[] = {{'<', '<'},       {'>', '>'},       {'^', '^'},       {'`', '`'},
                                 {'|', '|'},       {'~', '~'},       {0xA8, 0xA8},     {0xB4, 0xB4},
                                 {0x200B, 0x200B}, {0x2600, 0x27BF}, {0xFE0F, 0xFE0F}, {0x1F000, 0x1FAFF}};
    if (IS_IN(more, letter))
        return 1;
    const char *category = trl__category_of(letter);
    return (category[0] == 'P' && !IS_IN(spoken, letter)) || strcmp(category, "Zs") == 0;
}

int trl__is_separator(int32_t letter)
{
    static const block separators[] = {
        {0xA1, 0xA1},     {0xAB, 0xAB},     {0xBB, 0xBB},     {0xBF, 0xBF},     {0x60C, 0x60C},   {0x61B, 0x61B},
        {0x61F, 0x61F},   {0x6D4, 0x6D4},   {0x964, 0x965},   {0x1361, 0x1368}, {0x200B, 0x200B}, {0x2013, 0x2015},
        {0x201C, 0x201F}, {0x2026, 0x2026}, {0x2039, 0x203A}, {0x3000, 0x303F}, {0xFF00, 0xFF65}};
    return IS_IN(separators, letter) ? trl__is_mark(letter) : strcmp(trl__category_of(letter), "Zs") == 0;
}

int32_t trl__closing_bracket(int32_t letter)
{
    switch (letter) {
    case '[': return ']';
    case '<': return '>';
    case '{': return '}';
    case '(': return ')';
    default: return 0;
    }
}

size_t trl__tidy_letters(int32_t *letters, size_t count)
{
    static const block apostrophes[] = {{'`', '`'},       {0xB4, 0xB4},     {0x2BC, 0x2BC},  {0x2018, 0x2019},
                                        {0x201B, 0x201B}, {0x2032, 0x2032}, {0xFF07, 0xFF07}};
    static const block hyphens[] = {{0x2010, 0x2011}, {0x2212, 0x2212}, {0xFE63, 0xFE63}, {0xFF0D, 0xFF0D}};
    static const block unseen[] = {{0xAD, 0xAD},     {0x200E, 0x200F}, {0x202A, 0x202E},
                                   {0x2060, 0x2060}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (!IS_IN(unseen, letters[i]))
            letters[left++] = IS_IN(apostrophes, letters[i]) ? '\'' : IS_IN(hyphens, letters[i]) ? '-' : letters[i];
    return left;
}
