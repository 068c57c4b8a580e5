#include "frontend_input.h"

#include <string.h>
#include <trellis/feature_file.h>
#include <trellis/model.h>

static int apply_settings(const cli_command *command, const cli_list *settings, trl_frontend_options *o)
{
    trl_error err;
    for (size_t i = 0; i < settings->count; i++) {
        char key[64];
        const char *equals = strchr(settings->items[i], '=');
        if (!equals || (size_t)(equals - settings->items[i]) >= sizeof key)
            return cli_usage_error(command, "--set takes KEY=VALUE, not '%s'", settings->items[i]);
        snprintf(key, sizeof key, "%.*s", (int)(equals - settings->items[i]), settings->items[i]);
        if (trl_frontend_set(o, key, equals + 1, &err) < 0)
            return cli_refused(command, &err);
    }
    return 0;
}

/* The front end of a model's frames. */
static int apply_model(const char *path, trl_frontend_options *o)
{
    trl_error err;
    trl_model *model = NULL;
    int code = trl_model_import(path, NULL, &model, &err);
    const char *description = code == 0 ? trl_model_frontend(model) : NULL;
    if (code == 0)
        code = description && *description
                   ? trl_model_read_frontend(model, 0, o, &err)
                   : cli_error(&err, TRL_EINVAL, "%s: the model does not say which front end makes its features", path);
    trl_model_destroy(model);
    return code < 0 ? cli_failure(&err) : 0;
}

int frontend_input_create(const cli_command *command, const frontend_input *input, const char *const *first,
                          trl_frontend **frontend)
{
    trl_error err;
    trl_frontend_options o;
    if (trl_frontend_preset(&o, input->preset ? input->preset : "mfcc", &err) < 0)
        return cli_refused(command, &err);
    int code = 0;
    for (size_t i = 0; code == 0 && first && first[i]; i += 2)
        code = trl_frontend_set(&o, first[i], first[i + 1], &err) < 0 ? cli_failure(&err) : 0;
    if (code == 0 && input->model)
        code = apply_model(input->model, &o);
    if (code == 0 && input->config)
        code = trl_frontend_read(&o, input->config, &err) < 0 ? cli_failure(&err) : 0;
    if (code == 0)
        code = apply_settings(command, &input->set, &o);
    if (code == 0 && input->transform) {
        trl_matrix_free(&o.transform);
        code = trl_feature_read_matrix(input->transform, &o.transform, &err) < 0 ? cli_failure(&err) : 0;
    }
    if (code == 0 && trl_frontend_create(&o, frontend, &err) < 0) {
        const char *file = input->transform ? input->transform : input->config;
        code = file && err.code != TRL_ENOMEM ? cli_usage_error(command, "%s: %s", file, err.text)
                                              : cli_refused(command, &err);
    }
    trl_matrix_free(&o.transform);
    return code;
}
