/* gnuplot reads its commands from one temporary file and draws into another; none has a name, so nothing is left behind
 * and no name has to be quoted. Its warnings stay there too: a picture that looks poor is no fault of the user's. */
#include "gnuplot.h"
#include "cli.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* In single quotes: inside double ones gnuplot would run what stands between backquotes as a command. */
void gnuplot_quote(FILE *script, const char *text)
{
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', script);
        if ((unsigned char)*text >= ' ')
            fputc(*text, script);
    }
    fputc('\'', script);
}

/* Files, not pipes: a gnuplot that stops early can't leave us writing into a closed one. */
typedef struct drawing {
    FILE *script, *picture, *messages;
} drawing;

static int start(const drawing *d, pid_t *child, trl_error *err)
{
    char *arguments[] = {"gnuplot", "-d", "-", NULL}; /* -d: not with the user's own settings */
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, fileno(d->script), STDIN_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, fileno(d->picture), STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, fileno(d->messages), STDERR_FILENO);
    if (code == ENOMEM)
        cli_out_of_memory();
    code = posix_spawnp(child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code == 0
               ? 0
               : cli_error(err, TRL_ENOENT, "can't run gnuplot (%s); install it (Debian: gnuplot-nox)", strerror(code));
}

/* What gnuplot said, as one line. */
static int say_failure(FILE *messages, trl_error *err)
{
    char text[400];
    rewind(messages);
    size_t length = fread(text, 1, sizeof text - 1, messages);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
    text[length] = '\0';
    return cli_error(err, TRL_EIO, "gnuplot failed: %s", text + strspn(text, " "));
}

static int run(const drawing *d, trl_error *err)
{
    pid_t child;
    int status = -1; /* as of a child that failed */
    if (fflush(d->script) != 0 || ferror(d->script) || lseek(fileno(d->script), 0, SEEK_SET) != 0)
        return cli_error(err, TRL_EIO, "writing the plot's script failed: %s", strerror(errno));
    int code = start(d, &child, err);
    if (code < 0)
        return code;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : say_failure(d->messages, err);
}

/* gnuplot may succeed without having drawn anything. */
static int read_back(FILE *picture, char **bytes, size_t *size, trl_error *err)
{
    off_t end = lseek(fileno(picture), 0, SEEK_END);
    if (end <= 0)
        return cli_error(err, TRL_EIO,
                         "gnuplot has drawn nothing: the disk is full, or your gnuplot can't write this format");
    *size = (size_t)end;
    *bytes = malloc(*size + 1);
    if (!*bytes)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    rewind(picture);
    if (fread(*bytes, 1, *size, picture) == *size) {
        (*bytes)[*size] = '\0';
        return 0;
    }
    free(*bytes);
    *bytes = NULL;
    return cli_error(err, TRL_EIO, "reading the picture back failed: %s", strerror(errno));
}

static void close_file(FILE *file)
{
    if (file)
        fclose(file);
}

static FILE *temporary(void)
{
    FILE *file = tmpfile();
    if (!file && errno == ENOMEM)
        cli_out_of_memory();
    return file;
}

int gnuplot_draw(const char *terminal, gnuplot_script *write, const void *user, char **picture, size_t *size,
                 trl_error *err)
{
    *picture = NULL;
    drawing d = {temporary(), temporary(), temporary()};
    int code = d.script && d.picture && d.messages
                   ? 0
                   : cli_error(err, TRL_EIO, "can't make a temporary file: %s", strerror(errno));
    if (code == 0) {
        fprintf(d.script, "set terminal %s\n", terminal);
        write(d.script, user);
        code = run(&d, err);
    }
    if (code == 0)
        code = read_back(d.picture, picture, size, err);
    close_file(d.script);
    close_file(d.picture);
    close_file(d.messages);
    return code;
}
