/* How commands take a front end: a preset, that of a model, a file, and single settings, each over the one before. */
#ifndef TRELLIS_FRONTEND_INPUT_H
#define TRELLIS_FRONTEND_INPUT_H

#include "cli.h"

#include <trellis/frontend.h>

typedef struct frontend_input {
    const char *preset, *model, *config, *transform;
    cli_list set;
} frontend_input;

/* `first` is a list KEY, VALUE, KEY, VALUE, …, NULL of settings over the preset that the user's go over; or NULL. Returns 0 or an exit
 * code. */
int frontend_input_create(const cli_command *command, const frontend_input *input, const char *const *first,
                          trl_frontend **frontend);

/* The options for a struct of values with a frontend_input member of this name. */
#define FRONTEND_INPUT_OPTIONS(type, member)                                                                      \
    {"preset", 'p',                                                                                               \
     CLI_TEXT, offsetof(type, member.preset),                                                                     \
     "NAME",   "mfcc (default), fbank, plp (Kaldi's conventions), htk, plp8k, sphinx"},                           \
        {"config", 'c',                                                                                           \
         CLI_TEXT, offsetof(type, member.config),                                                                 \
         "FILE",   "lines KEY = VALUE over the preset; what `trellis features --describe` prints"},               \
        {"set",       's',                                                                                        \
         CLI_LIST,    offsetof(type, member.set),                                                                 \
         "KEY=VALUE", "one key over preset and file; may be repeated"},                                           \
    {                                                                                                             \
        "transform", 0, CLI_TEXT, offsetof(type, member.transform), "FILE",                                       \
            "a matrix in Kaldi's form, applied to the spliced frames; one column more than they have values: an " \
            "offset"                                                                                              \
    }

#endif
