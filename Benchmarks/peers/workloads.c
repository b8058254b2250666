// Puts one workload to the store this program is linked with. Usage: PEER WORKLOAD DIRECTORY
// W1, W2 and W2sync want the directory empty, the others want what W2 (and W6) left in it.
#include "store.h"

#include <string.h>

static const char *directory;

static void load(uint64_t count) {
  Record record;
  for (uint64_t i = 0; i < count; i++) {
    if (i % BATCH == 0) store_begin(true);
    make_record(i, &record);
    store_insert(&record);
    if (i % BATCH == BATCH - 1) store_commit();
  }
}

static double sum(Filter filter) {
  store_begin(false);
  double result = store_sum(filter);
  store_commit();
  return result;
}

static void durable_commits(void) {
  enum { COMMITS = 2000 };
  static double seconds[COMMITS];
  store_open(directory, false, true);
  load(SMALL);
  store_close();
  store_open(directory, true, false);
  double bytes = bytes_written(), start = now();
  for (uint64_t t = 0; t < COMMITS; t++) {
    double before = now();
    int64_t modified = new_modified(t);
    store_begin(true);
    store_update(pick(t, SMALL), new_price(t), &modified);
    store_commit();
    seconds[t] = now() - before;
  }
  double total = now() - start;
  durable_figures(directory, seconds, COMMITS, total, bytes_written() - bytes);
  store_close();
  store_open(directory, true, false);
  check(sum(EVERY_RECORD), CHECK_W1);
  store_close();
}

static void bulk_load(bool durable) {
  store_open(directory, durable, true);
  double start = now();
  load(BIG);
  double loaded = now();
  store_close();
  figure("records_per_s", BIG / (loaded - start));
  figure("close_ms", (now() - loaded) * 1e3);
  store_open(directory, false, false);
  check(sum(EVERY_RECORD), CHECK_LOADED);
  store_close();
}

static void first_read(void) {
  double start = now();
  store_open(directory, true, false);
  store_begin(false);
  double price = store_price(FIRST_READ), end = now();
  figure("first_read_us", (end - start) * 1e6);
  figure("peak_rss_MB", peak_memory() / 1e6);
  figure("disk_read_KB", bytes_read_from_disk() / 1e3);
  check(price, CHECK_FIRST_READ);
  store_commit();
  store_close();
}

static void point_reads(void) {
  enum { GETS = 1000000 };
  store_open(directory, true, false);
  store_begin(false);
  double total = 0, start = now();
  for (uint64_t t = 0; t < GETS; t++) total += store_price(pick(t, BIG));
  figure("ns_per_get", (now() - start) * 1e9 / GETS);
  check(total, CHECK_GETS);
  store_commit();
  store_close();
}

static void scan(const char *metric, Filter filter, double expected) {
  enum { TIMES = 21 };
  double seconds[TIMES];
  store_begin(false);
  for (int i = 0; i < TIMES; i++) {
    double before = now(), result = store_sum(filter);
    seconds[i] = now() - before;
    check(result, expected);
  }
  store_commit();
  figure(metric, quantile(seconds, TIMES, 0.5) * 1e3);
}

static void filters(void) {
  store_open(directory, false, false);
  scan("int_scan_ms", WANTED_BY_CATEGORY, CHECK_CATEGORY);
  scan("string_scan_ms", WANTED_BY_OWNER, CHECK_OWNER);
  if (store_set_indexed(true)) {
    scan("int_indexed_ms", WANTED_BY_CATEGORY, CHECK_CATEGORY);
    scan("string_indexed_ms", WANTED_BY_OWNER, CHECK_OWNER);
    store_set_indexed(false);
  }
  store_close();
}

static void updates(void) {
  store_open(directory, false, false);
  double bytes = bytes_written(), start = now();
  for (uint64_t t = 0; t < UPDATES; t++) {
    if (t % BATCH == 0) store_begin(true);
    store_update(pick(t, BIG), new_price(t), NULL);
    if (t % BATCH == BATCH - 1) store_commit();
  }
  figure("updates_per_s", UPDATES / (now() - start));
  figure("written_B", (bytes_written() - bytes) / UPDATES);
  check(sum(EVERY_RECORD), CHECK_UPDATED);
  store_close();
}

static void compaction(void) {
  store_open(directory, false, false);
  double start = now();
  store_compact();
  figure("compact_ms", (now() - start) * 1e3);
  figure("peak_rss_MB", peak_memory() / 1e6);
  store_close();
  store_open(directory, false, false);
  check(sum(EVERY_RECORD), CHECK_UPDATED);
  store_close();
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin(arguments[0], arguments[1]);
  directory = arguments[2];
  if (workload_is("W1")) durable_commits();
  else if (workload_is("W2")) bulk_load(false);
  else if (workload_is("W2sync")) bulk_load(true);
  else if (workload_is("W3cold") || workload_is("W3warm")) first_read();
  else if (workload_is("W4")) point_reads();
  else if (workload_is("W5")) filters();
  else if (workload_is("W6")) updates();
  else if (workload_is("W10")) compaction();
  else fail("no such workload", arguments[1]);
}
