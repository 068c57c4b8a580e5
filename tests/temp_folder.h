/* A folder of its own for a test, and files in it. Every function asserts that it worked. */
#ifndef TEST_TEMP_FOLDER_H
#define TEST_TEMP_FOLDER_H

#include "cmocka_test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char temp_folder[256];

/* The path of a file in the folder; the text lives until the eighth call after this one. */
static inline const char *temp_path(const char *name)
{
    static char paths[8][640];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_folder, name);
    return path;
}

static inline int temp_folder_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(temp_folder, sizeof temp_folder, "%s/trellis-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(temp_folder) ? 0 : -1;
}

static inline int temp_remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    return place->level > 0 ? remove(path) : 0;
}

/* How many entries there are; with remove_them they are gone afterwards, sub-folders and all. */
static inline int temp_entries(int remove_them)
{
    DIR *folder = opendir(temp_folder);
    assert_non_null(folder);
    int count = -2; /* . and .. */
    while (readdir(folder))
        count++;
    closedir(folder);
    if (remove_them)
        assert_int_equal(nftw(temp_folder, temp_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    return count;
}

static inline int temp_folder_remove(void **state)
{
    (void)state;
    temp_entries(1);
    return rmdir(temp_folder);
}

static inline void temp_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(temp_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* All bytes of a file, with room for 128 more behind them; the caller frees them. */
static inline void *file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size + 128);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static inline void *temp_read(const char *name, size_t *size)
{
    return file_bytes(temp_path(name), size);
}

/* The file is there with exactly this content. */
static inline void temp_expect(const char *name, const void *bytes, size_t size)
{
    size_t found;
    void *content = temp_read(name, &found);
    assert_int_equal(found, size);
    assert_memory_equal(content, bytes, size);
    free(content);
}

#endif
