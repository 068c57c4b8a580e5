#include "resume.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *command_line; /* with --resume, as a shell reads it */
static const char *volatile offered;
static const volatile size_t *volatile counter;

static int is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+@%-";
    return *word && word[strspn(word, plain)] == '\0';
}

static void put_word(FILE *out, const char *word)
{
    int quoted = !is_plain(word);
    if (quoted)
        fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    if (quoted)
        fputc('\'', out);
}

void resume_remember(int argc, char **argv)
{
    size_t size;
    int is_there = 0;
    FILE *out = open_memstream(&command_line, &size);
    if (!out)
        return;
    fputs("trellis", out);
    for (int i = 1; i < argc; i++) {
        fputc(' ', out);
        put_word(out, argv[i]);
        is_there |= strcmp(argv[i], "--resume") == 0;
    }
    fputs(is_there ? "\n" : " --resume\n", out);
    if (fclose(out) != 0)
        command_line = NULL;
}

/* By write alone: a signal may come anywhere. */
static void put(const char *text)
{
    size_t length = strlen(text);
    while (length > 0) {
        ssize_t done = write(STDERR_FILENO, text, length);
        if (done <= 0)
            return;
        text += done;
        length -= (size_t)done;
    }
}

static void put_number(size_t number)
{
    char text[24], *at = text + sizeof text - 1;
    *at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(at);
    put(" ");
}

void resume_say(void)
{
    if (!offered || !command_line || (counter && *counter == 0))
        return;
    put("kept: ");
    if (counter)
        put_number(*counter);
    put(offered);
    put("; this goes on from there:\n  ");
    put(command_line);
}

static void interrupted(int number)
{
    put(offered ? "\ninterrupted\n" : "\n");
    resume_say();
    raise(number); /* the default again, once this returns */
}

void resume_offer(const char *kept, const volatile size_t *count)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    counter = count;
    offered = kept;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESETHAND}, before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL); /* one that is ignored, as under nohup, stays so */
    }
}

void resume_withdraw(void)
{
    offered = NULL;
}
