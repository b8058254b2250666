// How much room there is: a bare log of checksummed LZ4 blocks and a mapped snapshot. No recovery,
// no concurrency, no history, no API: nothing real will reach it. Usage: floor WORKLOAD DIRECTORY
#include "harness.h"
#include "image.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

static char log_path[4096], image_path[4096];

// --- blocks: {sizes, XXH3 of the packed bytes}, then the packed bytes

typedef struct {
  uint32_t raw_size, packed_size;
  uint64_t checksum;
} BlockHead;

static size_t pack(const void *raw, size_t size, uint8_t *out, size_t capacity) {
  BlockHead head = {.raw_size = (uint32_t)size};
  char *packed = (char *)out + sizeof head;
  int room = (int)(capacity - sizeof head);
  head.packed_size = (uint32_t)LZ4_compress_default(raw, packed, (int)size, room);
  if (!head.packed_size) fail("pack", "a block is too small");
  head.checksum = XXH3_64bits(packed, head.packed_size);
  memcpy(out, &head, sizeof head);
  return sizeof head + head.packed_size;
}

static void unpack(const uint8_t *block, void *raw) {
  BlockHead head;
  memcpy(&head, block, sizeof head);
  const char *packed = (const char *)block + sizeof head;
  if (XXH3_64bits(packed, head.packed_size) != head.checksum) fail("unpack", "checksum");
  int size = LZ4_decompress_safe(packed, raw, (int)head.packed_size, (int)head.raw_size);
  if (size != (int)head.raw_size) fail("unpack", "size");
}

static int create_log(void) {
  int file = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail("create", log_path);
  return file;
}

static void append(int file, const void *bytes, size_t size) {
  if (write(file, bytes, size) != (ssize_t)size) fail("write", log_path);
}

static double sum_of_prices(const Image *image, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += row_at(image, i)->fixed.price;
  return sum;
}

// --- the workloads

static void durable_commits(const char *directory) {
  enum { COMMITS = 2000 };
  double median, rate = raw_durable_loop(directory, COMMITS, &median);
  figure("commits_per_s", rate);
  figure("p50_us", median * 1e6);
}

static void bulk_load(bool durable) {
  static uint8_t raw[BATCH * 320], packed[BATCH * 330];
  int file = create_log();
  Record record;
  double start = now(), size = 0;
  for (uint64_t i = 0; i < BIG;) {
    size_t filled = 0;
    for (int k = 0; k < BATCH; k++) {
      make_record(i++, &record);
      filled += put_row(&record, raw + filled);
    }
    size_t block = pack(raw, filled, packed, sizeof packed);
    append(file, packed, block);
    if (durable && fdatasync(file)) fail("sync", log_path);
    size += (double)block;
  }
  figure("records_per_s", BIG / (now() - start));
  figure("size_MB", size / 1e6);
  close(file);
  if (!durable) write_image(image_path);
}

static void first_read(void) {
  double start = now();
  uint8_t id[ID_SIZE];
  make_id(FIRST_READ, id);
  // Advised as random: without that the kernel reads megabytes around each first touch.
  const Image *image = map_image(image_path, MADV_RANDOM);
  double price = find_row(image, id)->fixed.price, end = now();
  figure("first_read_us", (end - start) * 1e6);
  figure("peak_rss_MB", peak_memory() / 1e6);
  figure("disk_read_KB", bytes_read_from_disk() / 1e3);
  check(price, CHECK_FIRST_READ);
}

static void point_reads(void) {
  enum { GETS = 1000000 };
  const Image *image = map_image(image_path, MADV_NORMAL);
  uint8_t id[ID_SIZE];
  double total = 0, start = now();
  for (uint64_t t = 0; t < GETS; t++) {
    make_id(pick(t, BIG), id);
    total += find_row(image, id)->fixed.price;
  }
  figure("ns_per_get", (now() - start) * 1e9 / GETS);
  check(total, CHECK_GETS);
}

static bool has_category(const Row *row) { return row->fixed.category == WANTED_CATEGORY; }

static bool has_owner(const Row *row) {
  return row->fixed.owner_length == strlen(WANTED_OWNER) &&
         !memcmp(row->strings, WANTED_OWNER, strlen(WANTED_OWNER));
}

static inline __attribute__((always_inline)) void scan(
    const Image *image, const char *metric, bool (*wanted)(const Row *), double expected) {
  enum { TIMES = 21 };
  double seconds[TIMES];
  for (int i = 0; i < TIMES; i++) {
    double before = now(), sum = 0;
    for (uint32_t k = 0; k < BIG; k++) {
      const Row *row = row_at(image, k);
      if (wanted(row)) sum += row->fixed.price;
    }
    seconds[i] = now() - before;
    check(sum, expected);
  }
  figure(metric, quantile(seconds, TIMES, 0.5) * 1e3);
}

static void filters(void) {
  const Image *image = map_image(image_path, MADV_NORMAL);
  scan(image, "int_scan_ms", has_category, CHECK_CATEGORY);
  scan(image, "string_scan_ms", has_owner, CHECK_OWNER);
}

typedef struct __attribute__((packed)) {
  uint32_t row;  // its place in the image
  uint8_t field;
  double price;
} Update;

static void update_all(Image *image) {
  static Update updates[BATCH];
  static uint8_t packed[sizeof updates * 2];
  uint8_t id[ID_SIZE];
  int file = create_log();
  double start = now(), size = 0;
  for (uint64_t t = 0; t < UPDATES; t++) {
    make_id(pick(t, BIG), id);
    Row *row = find_row(image, id);
    row->fixed.price = new_price(t);
    uint32_t place = (uint32_t)((uint8_t *)row - image->rows);
    updates[t % BATCH] = (Update){place, 2, row->fixed.price};
    if (t % BATCH < BATCH - 1) continue;
    size_t block = pack(updates, sizeof updates, packed, sizeof packed);
    append(file, packed, block);
    size += (double)block;
  }
  double seconds = now() - start;
  close(file);
  if (workload_is("W6")) {
    figure("updates_per_s", UPDATES / seconds);
    figure("written_B", size / UPDATES);
  }
  check(sum_of_prices(image, BIG), CHECK_UPDATED);
}

static void updates(void) {
  size_t size;
  update_all(build_image(&size));
}

static void compaction(void) {
  static uint8_t packed[80000];
  size_t size;
  Image *image = build_image(&size);
  update_all(image);
  int file = create_log();
  double start = now(), written = 0;
  for (uint32_t i = 0; i < BIG;) {
    uint32_t first = image->offsets[i];
    while (i < BIG && image->offsets[i + 1] - first <= 65536) i++;
    size_t block = pack(image->rows + first, image->offsets[i] - first, packed, sizeof packed);
    append(file, packed, block);
    written += (double)block;
  }
  if (fdatasync(file)) fail("sync", log_path);
  figure("compact_ms", (now() - start) * 1e3);
  figure("size_after_MB", written / 1e6);
  close(file);
}

typedef struct __attribute__((packed)) {
  uint8_t id[ID_SIZE], field;
  uint64_t clock;
  double price;
} Change;

// The last writer wins, decided by one clock a record: the least that a merge can do.
static void remote_changes(void) {
  size_t size, capacity = BIG * sizeof(Change) * 2;
  Image *image = build_image(&size);
  Change *changes = calloc(BIG, sizeof *changes);
  uint8_t *message = malloc(capacity);
  uint64_t *clocks = calloc(BIG, sizeof *clocks);
  for (uint64_t t = 0; t < BIG; t++) {
    changes[t] = (Change){.field = 2, .clock = t + 2, .price = new_price(t)};
    make_id(pick(t, SMALL), changes[t].id);
  }
  double before = now();
  size_t length = pack(changes, BIG * sizeof *changes, message, capacity);
  figure("encode_ms", (now() - before) * 1e3);
  figure("message_MB", (double)length / 1e6);
  memset(changes, 0, BIG * sizeof *changes);
  before = now();
  unpack(message, changes);
  for (uint32_t t = 0; t < BIG; t++) {
    Row *row = find_row(image, changes[t].id);
    uint64_t *clock = &clocks[row->fixed.seq];
    if (changes[t].clock <= *clock) continue;
    *clock = changes[t].clock;
    row->fixed.price = changes[t].price;
  }
  figure("apply_ms", (now() - before) * 1e3);
  check(sum_of_prices(image, SMALL), CHECK_MERGED);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin(arguments[0], arguments[1]);
  const char *directory = arguments[2];
  join_path(log_path, sizeof log_path, directory, "log");
  join_path(image_path, sizeof image_path, directory, "image");
  if (workload_is("W1")) durable_commits(directory);
  else if (workload_is("W2")) bulk_load(false);
  else if (workload_is("W2sync")) bulk_load(true);
  else if (workload_is("W3cold") || workload_is("W3warm")) first_read();
  else if (workload_is("W4")) point_reads();
  else if (workload_is("W5")) filters();
  else if (workload_is("W6")) updates();
  else if (workload_is("W7")) remote_changes();
  else if (workload_is("W10")) compaction();
  else fail("no such workload", arguments[1]);
}
