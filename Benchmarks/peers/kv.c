// Records over a key-value store. A value is the fixed fields at known places, then the strings, so
// a reader decodes nothing: that flatters key-value stores, and they may have it.
#include "kv.h"

#include <string.h>

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

void store_insert(const Record *record) {
  Packed packed;
  kv_put(record->id, &packed, pack(record, &packed));
}

static const uint8_t *find(uint64_t number, uint8_t id[ID_SIZE], size_t *size) {
  make_id(number, id);
  const uint8_t *value = kv_get(id, size);
  if (!value) fail("get", "a record is missing");
  return value;
}

double store_price(uint64_t number) {
  uint8_t id[ID_SIZE];
  size_t size;
  double price;
  memcpy(&price, find(number, id, &size) + offsetof(Packed, price), sizeof price);
  return price;
}

void store_update(uint64_t number, double price, const int64_t *modified) {
  uint8_t id[ID_SIZE];
  size_t size;
  const uint8_t *value = find(number, id, &size);
  Packed packed;
  memcpy(&packed, value, size);
  packed.price = price;
  if (modified) packed.modified = *modified;
  kv_put(id, &packed, size);
}

static double total;

static void add_price(const uint8_t *value) {
  double price;
  memcpy(&price, value + offsetof(Packed, price), sizeof price);
  total += price;
}

static void add_if_category(const uint8_t *value) {
  int64_t category;
  memcpy(&category, value + offsetof(Packed, category), sizeof category);
  if (category == WANTED_CATEGORY) add_price(value);
}

static void add_if_owner(const uint8_t *value) {
  if (value[offsetof(Packed, owner_length)] == strlen(WANTED_OWNER) &&
      !memcmp(value + offsetof(Packed, strings), WANTED_OWNER, strlen(WANTED_OWNER)))
    add_price(value);
}

double store_sum(Filter filter) {
  total = 0;
  kv_each(filter == WANTED_BY_CATEGORY ? add_if_category
          : filter == WANTED_BY_OWNER  ? add_if_owner
                                       : add_price);
  return total;
}

bool store_set_indexed(bool indexed) {
  (void)indexed;
  return false;
}
