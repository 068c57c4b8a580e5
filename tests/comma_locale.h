/* A language with decimal commas, as an application may have set it. */
#ifndef TEST_COMMA_LOCALE_H
#define TEST_COMMA_LOCALE_H

#include "temp_folder.h"

#include <locale.h>

/* German: the system's, or made in the temporary folder from the system's sources; skips the test where there is neither. Ended by
 * setlocale(LC_ALL, "C"). */
static inline void set_comma_locale(void)
{
    char command[800];
    snprintf(command, sizeof command, "localedef --no-archive -i de_DE -f UTF-8 '%s' >/dev/null 2>&1",
             temp_path("de_DE.UTF-8"));
    int set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    if (!set && system(command) == 0) {
        setenv("LOCPATH", temp_folder, 1);
        set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
        unsetenv("LOCPATH");
    }
    if (!set) {
        print_message("no language with decimal commas here, and no way to make one\n");
        skip();
    }
}

#endif
