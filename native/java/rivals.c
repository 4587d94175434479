/* See rivals.h. Agents in Java (-javaagent) want nothing for themselves. A JVM that a program starts within
 * itself tells its options nowhere: there the debugger complains, and powercut records without this agent. */
#include "rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17 }; /* bytes of a command line, and of a file of arguments: one in the other */

static bool names_agent(const char *text) {
    static const char *const options[] = {"-agentlib:", "-agentpath:", "-Xrun"};
    for (int i = 0; i < 3; i++) {
        for (const char *at = text; (at = strstr(at, options[i])); at++) {
            const char *own = strstr(at, "/libpowercut-java.so");
            if (!own || own >= at + strcspn(at, " \t\r\n\"'"))
                return true;
        }
    }
    return false;
}

/* What a file holds, with NUL behind it and between its parts; what is longer is cut. */
static char *content_of(const char *path, size_t *length) {
    char *text = malloc(MOST);
    FILE *file = text ? fopen(path, "re") : NULL;
    *length = file ? fread(text, 1, MOST - 1, file) : 0;
    if (text)
        text[*length] = '\0';
    if (file)
        fclose(file);
    return text;
}

static bool file_names_agent(const char *path) {
    size_t length = 0;
    char *text = content_of(path, &length);
    bool found = text && names_agent(text);
    free(text);
    return found;
}

bool pc_java_has_rivals(void) {
    static const char *const variables[] = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(variables[i]);
        if (value && names_agent(value))
            return true;
    }
    size_t length = 0;
    bool found = false;
    char *line = content_of("/proc/self/cmdline", &length);
    for (char *word = line; line && !found && word < line + length; word += strlen(word) + 1)
        found = names_agent(word) || (word[0] == '@' && file_names_agent(word + 1));
    free(line);
    return found;
}
