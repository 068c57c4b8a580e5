/* Runs a fuzz target over the files of a folder, with every prefix of the small ones: no fuzzing engine needed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIXES_UP_TO 4096 /* bytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    uint8_t *data = malloc((size_t)16 << 20);
    size_t size = data ? fread(data, 1, (size_t)16 << 20, file) : 0;
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    for (size_t n = 0; n < size && size <= PREFIXES_UP_TO; n++) {
        uint8_t *prefix = malloc(n ? n : 1); /* its own block, so that reading past the end shows */
        for (size_t i = 0; prefix && i < n; i++)
            prefix[i] = data[i];
        LLVMFuzzerTestOneInput(prefix, n);
        free(prefix);
    }
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 1;
    }
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            count += replay(argv[1], entry->d_name);
    closedir(folder);
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
