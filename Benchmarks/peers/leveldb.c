// LevelDB through its C API: Snappy, 64 MiB of cache, a Bloom filter of 10 bits a key.
#include "kv.h"

#include <leveldb/c.h>

static leveldb_t *db;
static leveldb_options_t *options;
static leveldb_cache_t *cache;
static leveldb_filterpolicy_t *filter;
static leveldb_readoptions_t *reading;
static leveldb_writeoptions_t *writing_options;
static leveldb_writebatch_t *batch;
static char *last_value, *error;

static void must(void) {
  if (error) fail("leveldb", error);
}

void store_open(const char *directory, bool durable, bool fresh) {
  options = leveldb_options_create();
  cache = leveldb_cache_create_lru(64 << 20);
  filter = leveldb_filterpolicy_create_bloom(10);
  leveldb_options_set_create_if_missing(options, fresh);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_filter_policy(options, filter);
  leveldb_options_set_compression(options, leveldb_snappy_compression);
  reading = leveldb_readoptions_create();
  writing_options = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(writing_options, durable);
  db = leveldb_open(options, directory, &error);
  must();
}

void store_close(void) {
  leveldb_free(last_value);
  last_value = NULL;
  leveldb_close(db);
  leveldb_writeoptions_destroy(writing_options);
  leveldb_readoptions_destroy(reading);
  leveldb_options_destroy(options);
  leveldb_filterpolicy_destroy(filter);
  leveldb_cache_destroy(cache);
}

void store_begin(bool writing) {
  if (writing) batch = leveldb_writebatch_create();
}

void store_commit(void) {
  if (!batch) return;
  leveldb_write(db, writing_options, batch, &error);
  must();
  leveldb_writebatch_destroy(batch);
  batch = NULL;
}

const void *kv_get(const uint8_t id[ID_SIZE], size_t *size) {
  leveldb_free(last_value);
  last_value = leveldb_get(db, reading, (const char *)id, ID_SIZE, size, &error);
  must();
  return last_value;
}

void kv_put(const uint8_t id[ID_SIZE], const void *value, size_t size) {
  leveldb_writebatch_put(batch, (const char *)id, ID_SIZE, value, size);
}

void kv_each(void (*visit)(const uint8_t *value)) {
  leveldb_iterator_t *i = leveldb_create_iterator(db, reading);
  size_t size;
  for (leveldb_iter_seek_to_first(i); leveldb_iter_valid(i); leveldb_iter_next(i))
    visit((const uint8_t *)leveldb_iter_value(i, &size));
  leveldb_iter_destroy(i);
}

void store_compact(void) { leveldb_compact_range(db, NULL, 0, NULL, 0); }
