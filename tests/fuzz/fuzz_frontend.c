/* Descriptions of front ends: any text gives options or an error; options that pass the check make a front end whose
 * description reads back to itself. */
#include <stdlib.h>
#include <string.h>
#include <trellis/frontend.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const trl_frontend *frontend)
{
    trl_frontend_options o;
    trl_frontend *again;
    if (trl_frontend_preset(&o, "mfcc", NULL) < 0 ||
        trl_frontend_parse(&o, trl_frontend_description(frontend), "again", NULL) < 0 ||
        trl_frontend_create(&o, &again, NULL) < 0 ||
        strcmp(trl_frontend_description(again), trl_frontend_description(frontend)) != 0)
        abort();
    trl_frontend_destroy(again);
    trl_matrix_free(&o.transform);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    trl_error err;
    trl_frontend_options o;
    trl_frontend *frontend;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (trl_frontend_preset(&o, "mfcc", &err) == 0 && trl_frontend_parse(&o, text, "fuzz", &err) == 0 &&
        trl_frontend_create(&o, &frontend, &err) == 0) {
        read_back(frontend);
        trl_frontend_destroy(frontend);
    }
    trl_matrix_free(&o.transform);
    free(text);
    return 0;
}
