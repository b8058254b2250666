// SQLite through its C API: WAL, 64 MiB of cache, 256 MiB mapped. Built twice: with a key of 16
// random bytes (WITHOUT ROWID), and with INTEGER_KEY, the record's number, its fastest key.
#include "sqlite.h"

#ifdef INTEGER_KEY
#define KEY_TYPE "INTEGER PRIMARY KEY"
#define TABLE_KIND ""
#else
#define KEY_TYPE "BLOB PRIMARY KEY"
#define TABLE_KIND "WITHOUT ROWID"
#endif

sqlite3 *db;

enum { BEGIN, COMMIT, INSERT, READ, UPDATE, UPDATE_BOTH, STATEMENTS };
static const char *const sql[STATEMENTS] = {
    [BEGIN] = "BEGIN",
    [COMMIT] = "COMMIT",
    [INSERT] = "INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?)",
    [READ] = "SELECT price FROM records WHERE id = ?1",
    [UPDATE] = "UPDATE records SET price = ?2 WHERE id = ?1",
    [UPDATE_BOTH] = "UPDATE records SET price = ?2, modified = ?3 WHERE id = ?1"};
static sqlite3_stmt *prepared[STATEMENTS];

void must(int status) {
  if (status != SQLITE_OK && status != SQLITE_ROW && status != SQLITE_DONE)
    fail("sqlite", sqlite3_errmsg(db));
}

void run(const char *text) { must(sqlite3_exec(db, text, NULL, NULL, NULL)); }

sqlite3_stmt *prepare(const char *text) {
  sqlite3_stmt *s;
  must(sqlite3_prepare_v2(db, text, -1, &s, NULL));
  return s;
}

static sqlite3_stmt *statement(int which) {
  if (!prepared[which]) prepared[which] = prepare(sql[which]);
  return prepared[which];
}

void step(sqlite3_stmt *s) {
  must(sqlite3_step(s));
  must(sqlite3_reset(s));
}

void bind_key(sqlite3_stmt *s, int position, uint64_t number) {
#ifdef INTEGER_KEY
  must(sqlite3_bind_int64(s, position, (sqlite3_int64)number));
#else
  uint8_t id[ID_SIZE];
  make_id(number, id);
  must(sqlite3_bind_blob(s, position, id, ID_SIZE, SQLITE_TRANSIENT));
#endif
}

void store_open(const char *directory, bool durable, bool fresh) {
  char path[4096];
  join_path(path, sizeof path, directory, "store.sqlite");
  must(sqlite3_open(path, &db));
  run("PRAGMA journal_mode=WAL; PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456");
  run(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
  if (fresh)
    run("CREATE TABLE records (id " KEY_TYPE ", seq INTEGER, category INTEGER, price REAL,"
        " done INTEGER, owner TEXT, note TEXT, created INTEGER, modified INTEGER)" TABLE_KIND);
}

void store_close(void) {
  for (int i = 0; i < STATEMENTS; i++) {
    sqlite3_finalize(prepared[i]);
    prepared[i] = NULL;
  }
  must(sqlite3_close(db));
}

void store_begin(bool writing) {
  (void)writing;
  step(statement(BEGIN));
}

void store_commit(void) { step(statement(COMMIT)); }

void store_insert(const Record *record) {
  sqlite3_stmt *s = statement(INSERT);
  bind_key(s, 1, (uint64_t)record->seq);
  sqlite3_bind_int64(s, 2, record->seq);
  sqlite3_bind_int64(s, 3, record->category);
  sqlite3_bind_double(s, 4, record->price);
  sqlite3_bind_int(s, 5, record->done);
  sqlite3_bind_text(s, 6, record->owner, record->owner_length, SQLITE_STATIC);
  sqlite3_bind_text(s, 7, record->note, record->note_length, SQLITE_STATIC);
  sqlite3_bind_int64(s, 8, record->created);
  sqlite3_bind_int64(s, 9, record->modified);
  step(s);
}

void store_update(uint64_t number, double price, const int64_t *modified) {
  sqlite3_stmt *s = statement(modified ? UPDATE_BOTH : UPDATE);
  bind_key(s, 1, number);
  sqlite3_bind_double(s, 2, price);
  if (modified) sqlite3_bind_int64(s, 3, *modified);
  step(s);
}

double store_price(uint64_t number) {
  sqlite3_stmt *s = statement(READ);
  bind_key(s, 1, number);
  if (sqlite3_step(s) != SQLITE_ROW) fail("read", "a record is missing");
  double price = sqlite3_column_double(s, 0);
  must(sqlite3_reset(s));
  return price;
}

double store_sum(Filter filter) {
  static const char *const queries[] = {
      [EVERY_RECORD] = "SELECT price FROM records",
      [WANTED_BY_CATEGORY] = "SELECT price FROM records WHERE category = 42",
      [WANTED_BY_OWNER] = "SELECT price FROM records WHERE owner = '" WANTED_OWNER "'"};
  sqlite3_stmt *query = prepare(queries[filter]);
  double sum = 0;
  while (sqlite3_step(query) == SQLITE_ROW) sum += sqlite3_column_double(query, 0);
  must(sqlite3_finalize(query));
  return sum;
}

bool store_set_indexed(bool indexed) {
  run(indexed ? "CREATE INDEX by_category ON records(category);"
                "CREATE INDEX by_owner ON records(owner)"
              : "DROP INDEX by_category; DROP INDEX by_owner");
  return true;
}

void store_compact(void) { run("VACUUM"); }
