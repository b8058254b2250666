// What the values of the data set take as plain text: a CSV file, packed with LZ4 in blocks of
// 64 KiB as a snapshot is. Usage: csv bytes DIRECTORY
#include "dataset.h"
#include "harness.h"

#include <inttypes.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 65536, ROOM = 400 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// 16 bytes as 22 letters, as an id is written out.
static void write_id(const uint8_t id[ID_SIZE], char out[23]) {
  uint32_t bits = 0;
  int held = 0, length = 0;
  for (int i = 0; i < ID_SIZE; i++) {
    bits = bits << 8 | id[i];
    for (held += 8; held >= 6; held -= 6) out[length++] = letters[bits >> (held - 6) & 63];
  }
  out[length++] = letters[bits << (6 - held) & 63];
  out[length] = 0;
}

static int write_row(uint64_t number, char *out) {
  Record r;
  char id[23];
  make_record(number, &r);
  write_id(r.id, id);
  return sprintf(
      out, "%s,%" PRId64 ",%" PRId64 ",%.2f,%s,%.*s,%.*s,%" PRId64 ",%" PRId64 "\n", id, r.seq,
      r.category, r.price, r.done ? "true" : "false", r.owner_length, r.owner, r.note_length,
      r.note, r.created, r.modified);
}

int main(int count, char **arguments) {
  static char text[BLOCK + ROOM], packed[LZ4_COMPRESSBOUND(BLOCK)];
  if (count != 3) return 2;
  begin(arguments[0], arguments[1]);
  if (!workload_is("bytes")) fail("no such workload", arguments[1]);
  double plain = 0, size = 0;
  int filled = sprintf(text, "id,seq,category,price,done,owner,note,created,modified\n");
  for (uint64_t i = 0; i < BIG; i++) {
    filled += write_row(i, text + filled);
    if (filled < BLOCK && i < BIG - 1) continue;
    int part = filled < BLOCK ? filled : BLOCK;
    plain += part;
    size += LZ4_compress_default(text, packed, part, sizeof packed) + 4;
    memmove(text, text + part, (size_t)(filled - part));
    filled -= part;
  }
  plain += filled;
  figure("plain_MB", plain / 1e6);
  figure("snapshot_MB", size / 1e6);
}
