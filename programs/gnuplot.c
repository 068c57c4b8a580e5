/* gnuplot reads its commands from one temporary file and draws into another; neither has a name, so nothing is left
 * behind and no name has to be quoted. */
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

static int start(int input, int output, pid_t *child, trl_error *err)
{
    char *arguments[] = {"gnuplot", "-d", "-", NULL}; /* -d: not with the user's own settings */
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int code = posix_spawnp(child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code == 0
               ? 0
               : cli_error(err, TRL_ENOENT, "can't run gnuplot (%s); install it (Debian: gnuplot-nox)", strerror(code));
}

/* From a file, not a pipe: a gnuplot that stops early can't leave us writing into a closed one. */
static int run(FILE *script, FILE *picture, trl_error *err)
{
    pid_t child;
    int status = -1; /* as of a child that failed */
    if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) != 0)
        return cli_error(err, TRL_EIO, "writing the plot's script failed: %s", strerror(errno));
    int code = start(fileno(script), fileno(picture), &child, err);
    if (code < 0)
        return code;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : cli_error(err, TRL_EIO, "gnuplot failed; its message stands above");
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

int gnuplot_draw(const char *terminal, gnuplot_script *write, const void *user, char **picture, size_t *size,
                 trl_error *err)
{
    *picture = NULL;
    FILE *script = tmpfile(), *drawn = tmpfile();
    int code = script && drawn ? 0 : cli_error(err, TRL_EIO, "can't make a temporary file: %s", strerror(errno));
    if (code == 0) {
        fprintf(script, "set terminal %s\n", terminal);
        write(script, user);
        code = run(script, drawn, err);
    }
    if (code == 0)
        code = read_back(drawn, picture, size, err);
    if (script)
        fclose(script);
    if (drawn)
        fclose(drawn);
    return code;
}
