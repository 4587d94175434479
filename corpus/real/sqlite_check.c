/* sqlite_check.py in C, for tests that judge hundreds of states: Python alone takes five times as long to start.
 *
 * What is used of SQLite is declared here: its library is where Python is, its header is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQLITE_OK = 0, SQLITE_ROW = 100, SQLITE_DONE = 101, MOST = 10000 };
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open(const char *name, sqlite3 **database);
int sqlite3_prepare_v2(sqlite3 *database, const char *text, int size, sqlite3_stmt **statement, const char **rest);
int sqlite3_step(sqlite3_stmt *statement);
int sqlite3_column_int(sqlite3_stmt *statement, int column);
const unsigned char *sqlite3_column_text(sqlite3_stmt *statement, int column);
int sqlite3_finalize(sqlite3_stmt *statement);
int sqlite3_close(sqlite3 *database);
const char *sqlite3_errmsg(sqlite3 *database);

static char there[MOST]; // which rows were found

static void corrupt(const char *why) {
    fprintf(stderr, "corrupt: %s\n", why);
    exit(1);
}

static sqlite3_stmt *ask(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK) corrupt(sqlite3_errmsg(database));
    return statement;
}

static int next(sqlite3 *database, sqlite3_stmt *statement) {
    int said = sqlite3_step(statement);
    if (said != SQLITE_ROW && said != SQLITE_DONE) corrupt(sqlite3_errmsg(database));
    return said == SQLITE_ROW;
}

static const char *text_of(sqlite3_stmt *statement, int column) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

static void check_soundness(sqlite3 *database) {
    sqlite3_stmt *answer = ask(database, "PRAGMA integrity_check");
    if (!next(database, answer)) corrupt("it says nothing");
    if (strcmp(text_of(answer, 0), "ok") != 0) corrupt(text_of(answer, 0));
    if (next(database, answer)) corrupt("it says more than that");
    sqlite3_finalize(answer);
}

static void check_rows(sqlite3 *database) {
    sqlite3_stmt *row = ask(database, "SELECT number, text FROM rows");
    while (next(database, row)) {
        int number = sqlite3_column_int(row, 0);
        if (number < 0 || number >= MOST) corrupt("a number that no row has");
        char once[32], wanted[20 * sizeof once] = "";
        snprintf(once, sizeof once, "row %d ", number);
        for (int i = 0; i < 20; i++) strcat(wanted, once);
        if (strcmp(text_of(row, 1), wanted) != 0) corrupt(text_of(row, 1));
        there[number] = 1;
    }
    sqlite3_finalize(row);
}

static int count_lost(void) {
    char line[64];
    int lost = 0, number;
    FILE *acked = fopen(getenv("POWERCUT_ACKED"), "r");
    if (!acked) exit(2);
    while (fgets(line, sizeof line, acked))
        if (strchr(line, '\n') && sscanf(line, "%*s %d", &number) == 1 && !(number < MOST && there[number])) {
            fprintf(stderr, "committed and lost: %d\n", number);
            lost++;
        }
    fclose(acked);
    return lost;
}

int main(int count, char **arguments) {
    sqlite3 *database;
    if (sqlite3_open("rows.db", &database) != SQLITE_OK) corrupt(sqlite3_errmsg(database));
    check_soundness(database);
    check_rows(database);
    sqlite3_close(database);
    return count > 1 && strcmp(arguments[1], "integrity") == 0 ? 0 : count_lost() > 0;
}
