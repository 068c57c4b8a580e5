/* The container that all our files share: a header, aligned sections, a table of them, everything checksummed.
 *
 *     byte 0   magic "trellis\0"
 *          8   u32 container version (1)
 *         12   u32 0x01020304 in the writer's byte order (little-endian always, so 04 03 02 01)
 *         16   char[16] kind, NUL-padded ("features")
 *         32   u32 kind version
 *         36   u32 number of sections
 *         40   u64 offset of the section table
 *         48   u64 XXH3 of the section table
 *         56   u64 XXH3 of bytes 0 … 55
 *         64   sections in the order of the table, each at the next multiple of 64, zero bytes between
 *              the table, at the next multiple of 64; with it the file ends
 *
 * A table entry is 48 bytes: char[16] name, u64 offset, u64 size, u64 XXH3 of the section (0 with flag 1), u32 flags,
 * u32 zero. Flag 1: the section carries checksums of its own and isn't checked on opening (huge, random access).
 * The file is mapped as it is: numbers have the byte order of the machine that wrote it (little-endian on all that we
 * build for), and a machine of the other order refuses it.
 */
#ifndef TRL_BASE_CONTAINER_H
#define TRL_BASE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__container_writer trl__container_writer;
typedef struct trl__container trl__container;

int trl__container_create(const char *path, const char *kind, uint32_t kind_version, trl__container_writer **out,
                          trl_error *err);

/* Sections are written one after the other: begin, write …, then the next begin or the commit. A name is used once
 * (TRL_EINVAL). After a failure only the abort makes sense. */
int trl__container_begin(trl__container_writer *writer, const char *name, int checks_itself, trl_error *err);
int trl__container_write(trl__container_writer *writer, const void *bytes, size_t size, trl_error *err);
int trl__container_add(trl__container_writer *writer, const char *name, const void *bytes, size_t size,
                       trl_error *err);                                   /* a section at once */
uint64_t trl__container_position(const trl__container_writer *writer);    /* within the section */
int trl__container_commit(trl__container_writer *writer, trl_error *err); /* frees the writer */
void trl__container_abort(trl__container_writer *writer);

/* Maps the file and checks header, table and sections. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (foreign file or
 * kind), TRL_EUNSUPPORTED (newer version), TRL_ECORRUPT. */
int trl__container_open(const char *path, const char *kind, uint32_t newest_version, trl__container **out,
                        trl_error *err);
void trl__container_close(trl__container *container);

/* All of it was read to be checked, and little is needed soon: a mapped file's pages go back to the system, from where they return when they are read. */
void trl__container_rest(const trl__container *container);

/* The same from memory (a copy is made); `name` stands for the file in messages. */
int trl__container_from_memory(const char *name, const void *bytes, size_t size, const char *kind,
                               uint32_t newest_version, trl__container **out, trl_error *err);

/* The bytes of a section, 64-byte aligned, inside the mapping; TRL_ECORRUPT when it is missing. */
int trl__container_section(const trl__container *container, const char *name, const void **bytes, uint64_t *size,
                           trl_error *err);

/* The same as an array: how many elements of `size` bytes; TRL_ECORRUPT when they don't fill the section. */
int trl__container_array(const trl__container *container, const char *name, size_t size, const void **elements,
                         size_t *count, trl_error *err);

/* The same as text, copied; *out stays NULL where the section is empty. TRL_ECORRUPT when it is not UTF-8 without
 * NULs. */
int trl__container_text(const trl__container *container, const char *name, char **out, trl_error *err);

uint32_t trl__container_version(const trl__container *container);

/* Which content: the file's size, and a hash that covers all of it through the checksums of header, table and
 * sections; of a section that checks itself, its size only. */
uint64_t trl__container_size(const trl__container *container);
uint64_t trl__container_hash(const trl__container *container);

/* For messages: the file, and where in it a byte of a section lies. */
const char *trl__container_path(const trl__container *container);
uint64_t trl__container_offset(const trl__container *container, const void *byte);

#endif
