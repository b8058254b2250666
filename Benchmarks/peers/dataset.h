// The data set of every benchmark: the same records in any language (../README.md defines them).
#pragma once
#include <stdint.h>

enum { ID_SIZE = 16, SMALL = 10000, BIG = 100000, BATCH = 1000, UPDATES = 1000000 };

typedef struct {
  uint8_t id[ID_SIZE];
  int64_t seq, category, created, modified;  // the last two: milliseconds since 1970
  double price;
  int done, owner_length, note_length;
  char owner[16], note[160];
} Record;

void make_id(uint64_t number, uint8_t id[ID_SIZE]);
void make_record(uint64_t number, Record *out);

// Step t of a workload: which of n records it touches and what it writes there.
uint64_t pick(uint64_t t, uint64_t n);
double new_price(uint64_t t);
int64_t new_modified(uint64_t t);

#define WANTED_CATEGORY 42
#define WANTED_OWNER "user-0042"
#define FIRST_READ 77777

// What a right answer is. Sums are of prices.
#define CHECK_W1 50035887.92            // the 10,000 records after the 2,000 commits
#define CHECK_LOADED 500838060.31       // the 100,000 records as loaded
#define CHECK_FIRST_READ 2022.07        // record 77,777
#define CHECK_GETS 5008905283.54        // the 1,000,000 point reads
#define CHECK_CATEGORY 4834414.23       // the 994 records of the category
#define CHECK_OWNER 511359.96           // the 109 records of the owner
#define CHECK_UPDATED 500260807.95      // the 100,000 records after the 1,000,000 updates
#define CHECK_MERGED 49753625.00        // the 10,000 records after the 100,000 remote changes
