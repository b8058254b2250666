// W7 as people build it by hand on SQLite: beside the records, a table with a clock for each field
// of each record. A remote change that is newer than the clock sets both; all in one transaction.
#include "sqlite.h"

enum { PRICE_FIELD = 2, REPLICA = 2 };

static void load(void) {
  Record record;
  run("CREATE TABLE clocks (id BLOB, field INTEGER, counter INTEGER, replica INTEGER,"
      " PRIMARY KEY (id, field)) WITHOUT ROWID");
  store_begin(true);
  for (uint64_t i = 0; i < SMALL; i++) {
    make_record(i, &record);
    store_insert(&record);
  }
  run("INSERT INTO clocks SELECT id, 2, 1, 1 FROM records");
  store_commit();
}

static void apply(void) {
  sqlite3_stmt *clock = prepare(
      "UPDATE clocks SET counter = ?1, replica = ?2 WHERE id = ?3 AND field = ?4"
      " AND (counter, replica) < (?1, ?2)");
  sqlite3_bind_int64(clock, 2, REPLICA);
  sqlite3_bind_int64(clock, 4, PRICE_FIELD);
  store_begin(true);
  for (uint64_t t = 0; t < BIG; t++) {
    uint64_t number = pick(t, SMALL);
    sqlite3_bind_int64(clock, 1, (sqlite3_int64)t + 2);
    bind_key(clock, 3, number);
    step(clock);
    if (sqlite3_changes(db)) store_update(number, new_price(t), NULL);
  }
  store_commit();
  sqlite3_finalize(clock);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin(arguments[0], arguments[1]);
  if (!workload_is("W7")) fail("no such workload", arguments[1]);
  store_open(arguments[2], false, true);
  load();
  double start = now();
  apply();
  figure("apply_ms", (now() - start) * 1e3);
  store_begin(false);
  check(store_sum(EVERY_RECORD), CHECK_MERGED);
  store_commit();
  store_close();
}
