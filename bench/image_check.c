/* A small check that reads what it judges: the first bytes of each file in the data folder. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    DIR *folder = opendir(".");
    int files = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char start[4] = "";
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(entry->d_name, "r");
        if (file != NULL) {
            files += fread(start, 1, sizeof(start), file) <= sizeof(start);
            fclose(file);
        }
    }
    return files < 0;
}
