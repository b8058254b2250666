// tinycdb, which maps its files: W11. Values are packed as in kv.c.
#include "dataset.h"
#include "harness.h"

#include <cdb.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GETS = 1000000 };

typedef struct {
  int64_t seq, category, created, modified;
  double price;
  uint8_t done, owner_length;
  uint16_t note_length;
  char strings[sizeof((Record *)0)->owner + sizeof((Record *)0)->note];
} Packed;

static size_t pack(const Record *record, Packed *out) {
  out->seq = record->seq;
  out->category = record->category;
  out->created = record->created;
  out->modified = record->modified;
  out->price = record->price;
  out->done = (uint8_t)record->done;
  out->owner_length = (uint8_t)record->owner_length;
  out->note_length = (uint16_t)record->note_length;
  memcpy(out->strings, record->owner, out->owner_length);
  memcpy(out->strings + out->owner_length, record->note, out->note_length);
  return offsetof(Packed, strings) + out->owner_length + out->note_length;
}

// Under another name first, as cdbmake does it.
static void build(const char *path, const char *temporary) {
  int file = open(temporary, O_RDWR | O_CREAT | O_TRUNC, 0644);
  struct cdb_make make;
  if (file < 0 || cdb_make_start(&make, file)) fail("make", temporary);
  Record record;
  Packed packed;
  for (uint64_t i = 0; i < BIG; i++) {
    make_record(i, &record);
    size_t size = pack(&record, &packed);
    if (cdb_make_add(&make, record.id, ID_SIZE, &packed, (unsigned)size)) fail("add", temporary);
  }
  if (cdb_make_finish(&make) || rename(temporary, path) || close(file)) fail("finish", path);
}

static double price(struct cdb *cdb, uint64_t number) {
  uint8_t id[ID_SIZE];
  make_id(number, id);
  if (cdb_find(cdb, id, ID_SIZE) <= 0) fail("find", "a record is missing");
  const char *value = cdb_getdata(cdb);
  double result;
  memcpy(&result, value + offsetof(Packed, price), sizeof result);
  return result;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin(arguments[0], arguments[1]);
  char path[1024], temporary[1024];
  join_path(path, sizeof path, arguments[2], "store.cdb");
  join_path(temporary, sizeof temporary, arguments[2], "store.tmp");
  double start = now();
  build(path, temporary);
  figure("build_ms", (now() - start) * 1e3);

  start = now();
  struct cdb cdb;
  int file = open(path, O_RDONLY);
  if (file < 0 || cdb_init(&cdb, file)) fail("open", path);
  double first = price(&cdb, FIRST_READ);
  figure("first_read_us", (now() - start) * 1e6);
  check(first, CHECK_FIRST_READ);

  double total = 0;
  start = now();
  for (uint64_t t = 0; t < GETS; t++) total += price(&cdb, pick(t, BIG));
  figure("ns_per_get", (now() - start) * 1e9 / GETS);
  check(total, CHECK_GETS);
  cdb_free(&cdb);
  close(file);
}
