// What sqlite.c shares with sqlite-clock.c beside the functions of store.h.
#pragma once
#include "store.h"

#include <sqlite3.h>

extern sqlite3 *db;

void must(int status);
void run(const char *sql);
sqlite3_stmt *prepare(const char *sql);
void step(sqlite3_stmt *statement);  // to its end, and ready for the next time
void bind_key(sqlite3_stmt *statement, int position, uint64_t number);
