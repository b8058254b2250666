// RocksDB through its C API: LZ4, 64 MiB of cache, a Bloom filter of 10 bits a key, always a WAL.
#include "kv.h"

#include <rocksdb/c.h>

static rocksdb_t *db;
static rocksdb_options_t *options;
static rocksdb_readoptions_t *reading;
static rocksdb_writeoptions_t *writing_options;
static rocksdb_writebatch_t *batch;
static rocksdb_pinnableslice_t *last_value;
static char *error;

static void must(void) {
  if (error) fail("rocksdb", error);
}

void store_open(const char *directory, bool durable, bool fresh) {
  options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, fresh);
  rocksdb_options_set_compression(options, rocksdb_lz4_compression);
  rocksdb_block_based_table_options_t *tables = rocksdb_block_based_options_create();
  rocksdb_cache_t *cache = rocksdb_cache_create_lru(64 << 20);
  rocksdb_block_based_options_set_block_cache(tables, cache);
  rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom(10));
  rocksdb_options_set_block_based_table_factory(options, tables);
  rocksdb_cache_destroy(cache);  // the options keep it
  rocksdb_block_based_options_destroy(tables);
  reading = rocksdb_readoptions_create();
  writing_options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(writing_options, durable);
  db = rocksdb_open(options, directory, &error);
  must();
}

static void release_last_value(void) {
  if (last_value) rocksdb_pinnableslice_destroy(last_value);
  last_value = NULL;
}

void store_close(void) {
  release_last_value();
  rocksdb_flushoptions_t *flushing = rocksdb_flushoptions_create();
  rocksdb_flush(db, flushing, &error);
  must();
  rocksdb_flushoptions_destroy(flushing);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(writing_options);
  rocksdb_readoptions_destroy(reading);
  rocksdb_options_destroy(options);
}

void store_begin(bool writing) {
  if (writing) batch = rocksdb_writebatch_create();
}

void store_commit(void) {
  if (!batch) return;
  rocksdb_write(db, writing_options, batch, &error);
  must();
  rocksdb_writebatch_destroy(batch);
  batch = NULL;
}

const void *kv_get(const uint8_t id[ID_SIZE], size_t *size) {
  release_last_value();
  last_value = rocksdb_get_pinned(db, reading, (const char *)id, ID_SIZE, &error);
  must();
  return last_value ? rocksdb_pinnableslice_value(last_value, size) : NULL;
}

void kv_put(const uint8_t id[ID_SIZE], const void *value, size_t size) {
  rocksdb_writebatch_put(batch, (const char *)id, ID_SIZE, value, size);
}

void kv_each(void (*visit)(const uint8_t *value)) {
  rocksdb_iterator_t *i = rocksdb_create_iterator(db, reading);
  size_t size;
  for (rocksdb_iter_seek_to_first(i); rocksdb_iter_valid(i); rocksdb_iter_next(i))
    visit((const uint8_t *)rocksdb_iter_value(i, &size));
  rocksdb_iter_destroy(i);
}

void store_compact(void) { rocksdb_compact_range(db, NULL, 0, NULL, 0); }
