// A store as the workloads see it. Each peer defines these functions; workloads.c has main.
// Any failure ends the process through fail().
#pragma once
#include "dataset.h"
#include "harness.h"

typedef enum { EVERY_RECORD, WANTED_BY_CATEGORY, WANTED_BY_OWNER } Filter;

// `durable`: a commit returns when it would survive a power cut. `fresh`: the directory is empty.
void store_open(const char *directory, bool durable, bool fresh);
void store_close(void);

void store_begin(bool writing);
void store_commit(void);

// All within begin and commit. Records are found by their id, made from their number.
void store_insert(const Record *record);
void store_update(uint64_t number, double price, const int64_t *modified);  // NULL: price alone
double store_price(uint64_t number);
double store_sum(Filter filter);  // of the prices of all records that the filter takes

// Outside of a transaction.
bool store_set_indexed(bool indexed);  // by category and by owner; false: the store has no indexes
void store_compact(void);              // writes the live data anew
