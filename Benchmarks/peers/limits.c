// W9: what the machine allows, step by step, for whatever a workload is made of.
// Usage: limits W9 DIRECTORY
#define _GNU_SOURCE
#include "dataset.h"
#include "harness.h"
#include "image.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { KEYSTROKES = 259778, KEYSTROKE = 56, FRAME = 256, SYNCS = 1000, PAGE = 4096, PIECE = 64 << 10 };

static char place[4096], other[4096];
static const char *directory;
static volatile uint64_t sink;

static int create(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail("create", path);
  return file;
}

static void put(int file, const void *bytes, size_t size, off_t at) {
  if (pwrite(file, bytes, size, at) != (ssize_t)size) fail("write", place);
}

static void *memory(size_t size) {
  void *bytes = malloc(size);
  if (!bytes) fail("memory", "none left");
  return bytes;
}

// A file whose blocks exist, as a segment's do.
static int with_blocks(size_t size) {
  int file = create(place);
  char *zeros = calloc(1, size);
  if (!zeros) fail("memory", "none left");
  put(file, zeros, size, 0);
  if (fsync(file)) fail("sync", place);
  free(zeros);
  return file;
}

// A write call for each keystroke of the paper of W8, and nothing else.
static void keystrokes(void) {
  char frame[KEYSTROKE];
  memset(frame, 7, sizeof frame);
  int file = with_blocks((size_t)KEYSTROKES * KEYSTROKE);
  double before = now();
  for (int i = 0; i < KEYSTROKES; i++) put(file, frame, sizeof frame, (off_t)i * KEYSTROKE);
  figure("keystroke_writes_ms", (now() - before) * 1e3);
  close(file);
}

// `frames` writes, then one sync for all of them: the rate of the writes.
static double synced(int file, int frames, double *median) {
  static double seconds[SYNCS];
  char frame[FRAME];
  memset(frame, 7, sizeof frame);
  double before = now();
  for (int i = 0; i < SYNCS; i++) {
    double start = now();
    for (int j = 0; j < frames; j++) put(file, frame, FRAME, (off_t)(i * frames + j) * FRAME);
    if (fdatasync(file)) fail("sync", place);
    seconds[i] = now() - start;
  }
  double rate = SYNCS * frames / (now() - before);
  *median = quantile(seconds, SYNCS, 0.5);
  return rate;
}

static void syncs(void) {
  int file = with_blocks((size_t)SYNCS * 8 * FRAME);
  double median, shared;
  double alone = synced(file, 1, &median);
  figure("sync_us", median * 1e6);
  double four = synced(file, 4, &shared);
  figure("shared_times_4", four / alone);
  close(file);
}

static void names(void) {
  double times[200];
  char page[PAGE] = {7};
  for (int i = 0; i < 200; i++) {
    double start = now();
    int file = create(other);
    put(file, page, sizeof page, 0);
    if (fdatasync(file)) fail("sync", other);
    close(file);
    if (rename(other, place)) fail("rename", other);
    int parent = open(directory, O_RDONLY | O_DIRECTORY);
    if (parent < 0 || fsync(parent)) fail("sync", directory);
    close(parent);
    times[i] = now() - start;
  }
  figure("replace_us", quantile(times, 200, 0.5) * 1e6);
  double before = now();
  for (int i = 0; i < 10000; i++) close(open(place, O_RDONLY));
  figure("open_close_us", (now() - before) * 1e2);
  struct stat info;
  before = now();
  for (int i = 0; i < 10000; i++) {
    if (stat(place, &info)) fail("look at", place);
  }
  figure("stat_us", (now() - before) * 1e2);
}

// The rows of the data set, in pieces as a block of a snapshot (16 KiB) and of a log.
static void packing(void) {
  size_t size;
  Image *image = build_image(&size);
  size_t bytes = size - sizeof *image;
  size_t room = (size_t)LZ4_compressBound(PIECE);
  char *packed = memory(bytes / PIECE * room), *raw = memory(PIECE);
  int *sizes = memory(bytes / PIECE * sizeof *sizes);
  size_t pieces = bytes / PIECE;
  double before = now();
  for (size_t i = 0; i < pieces; i++)
    sizes[i] = LZ4_compress_default((char *)image->rows + i * PIECE, packed + i * room, PIECE, (int)room);
  figure("pack_ms", (now() - before) * 1e3);
  before = now();
  for (size_t i = 0; i < pieces; i++) {
    if (LZ4_decompress_safe(packed + i * room, raw, sizes[i], PIECE) != PIECE) fail("unpack", "size");
  }
  figure("unpack_ms", (now() - before) * 1e3);
  int small = LZ4_compress_default((char *)image->rows, packed, 16 << 10, (int)room);
  before = now();
  for (int i = 0; i < 1000; i++) LZ4_decompress_safe(packed, raw, small, 16 << 10);
  figure("unpack_16k_us", (now() - before) * 1e3);
  before = now();
  for (int i = 0; i < 10000; i++) sink += XXH3_64bits(image->rows + (size_t)(i % 100) * PIECE, PIECE);
  figure("checksum_GB_s", 10000.0 * PIECE / (now() - before) / 1e9);
  free(image);
  free(packed);
  free(sizes);
  free(raw);
}

static void memories(void) {
  size_t size = 64 << 20;
  char *from = memory(size), *to = memory(size);
  memset(from, 1, size);
  memset(to, 2, size);
  double before = now();
  memcpy(to, from, size);
  figure("copy_GB_s", (double)size / (now() - before) / 1e9);
  sink += (uint64_t)to[size - 1];
  // Each load says where the next one is, so that none can begin before.
  uint32_t *next = (uint32_t *)from, count = (uint32_t)(size / 64);
  uint32_t *order = memory(count * sizeof *order);
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  for (uint32_t i = count - 1; i > 0; i--) {
    uint32_t j = (uint32_t)pick(i, i + 1), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  for (uint32_t i = 0; i < count; i++) next[order[i] * 16] = order[(i + 1) % count];
  uint32_t at = 0;
  before = now();
  for (int i = 0; i < 1000000; i++) at = next[at * 16];
  figure("miss_ns", (now() - before) * 1e3);
  sink += at;
  char *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED || madvise(fresh, size, MADV_NOHUGEPAGE)) fail("map", "memory");
  before = now();
  for (size_t i = 0; i < size; i += PAGE) fresh[i] = 1;
  figure("fresh_page_ns", (now() - before) * 1e9 / (double)(size / PAGE));
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin("floor", arguments[1]);
  directory = arguments[2];
  join_path(place, sizeof place, directory, "file");
  join_path(other, sizeof other, directory, "other");
  keystrokes();
  syncs();
  names();
  packing();
  memories();
}
