/* Damage to files of ours: every byte flipped, every cut, sections replaced. */
#ifndef TEST_DAMAGE_FIXTURE_H
#define TEST_DAMAGE_FIXTURE_H

#include "container_repair.h"
#include "temp_folder.h"
#include "base/container.h"

/* The reader takes the file as it is, and no byte of it may be another or missing. `read` returns 0 for bytes that it takes. */
static inline void assert_damage_is_seen(const char *path, int (*read)(const unsigned char *bytes, size_t size))
{
    size_t size;
    unsigned char *bytes = file_bytes(path, &size);
    assert_int_equal(read(bytes, size), 0);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        assert_true(read(bytes, size) < 0);
        bytes[i] ^= 0x10;
        unsigned char *cut = malloc(i + 1); /* its own block, so that reading past the end shows */
        memcpy(cut, bytes, i);
        assert_true(read(cut, i) < 0);
        free(cut);
    }
    free(bytes);
}

/* A copy of a file of these sections with one of them replaced, or left out where bytes is NULL. Checksums are right. */
static inline void replace_section(const char *from, const char *to, const char *kind, uint32_t version,
                                   const char *const *sections, size_t count, const char *section, const void *bytes,
                                   uint64_t size)
{
    trl_error err;
    trl__container *file;
    trl__container_writer *writer;
    assert_int_equal(trl__container_open(from, kind, version, &file, &err), 0);
    assert_int_equal(trl__container_create(to, kind, version, &writer, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const void *old;
        uint64_t old_size;
        int changed = strcmp(sections[i], section) == 0;
        assert_int_equal(trl__container_section(file, sections[i], &old, &old_size, &err), 0);
        if (!changed || bytes)
            assert_int_equal(
                trl__container_add(writer, sections[i], changed ? bytes : old, changed ? size : old_size, &err), 0);
    }
    assert_int_equal(trl__container_commit(writer, &err), 0);
    trl__container_close(file);
}

#endif
