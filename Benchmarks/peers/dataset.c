#include "dataset.h"

#include <stdio.h>
#include <string.h>

static const char *const words[64] = {
    "alpha",  "bread",  "cloud",  "delta",  "eager",  "fable",  "grape",    "house",
    "ideal",  "jolly",  "kite",   "lemon",  "maple",  "night",  "ocean",    "paper",
    "quiet",  "river",  "stone",  "table",  "under",  "vivid",  "water",    "xenon",
    "young",  "zebra",  "amber",  "birch",  "candle", "dusk",   "ember",    "forest",
    "garden", "harbor", "island", "jacket", "kettle", "ladder", "meadow",   "needle",
    "orange", "pencil", "quartz", "ribbon", "saddle", "timber", "umbrella", "velvet",
    "window", "yellow", "the",    "of",     "and",    "to",     "in",       "is",
    "on",     "at",     "by",     "for",    "with",   "from",   "into",     "over"};

// One step of splitmix64, the only source of chance.
static uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

void make_id(uint64_t number, uint8_t id[ID_SIZE]) {
  uint64_t halves[2] = {mix64(2 * number + 1), mix64(2 * number + 2)};
  memcpy(id, halves, ID_SIZE);
}

// Words joined by spaces until there are 128 bytes of them.
static int make_note(uint64_t seed, char *out) {
  int length = 0;
  for (uint64_t k = 0; length < 128; k++) {
    const char *word = words[mix64(seed + k + 0x500000000u) & 63];
    if (length) out[length++] = ' ';
    size_t letters = strlen(word);
    memcpy(out + length, word, letters);
    length += (int)letters;
  }
  return length;
}

void make_record(uint64_t number, Record *out) {
  uint64_t seed = 64 * number;
  make_id(number, out->id);
  out->seq = (int64_t)number;
  out->category = (int64_t)(mix64(seed + 0x100000000u) % 100);
  out->price = (double)(mix64(seed + 0x200000000u) % 1000000) / 100;
  out->done = (int)(mix64(seed + 0x300000000u) & 1);
  unsigned user = (unsigned)(mix64(seed + 0x400000000u) % 1000);
  out->owner_length = snprintf(out->owner, sizeof out->owner, "user-%04u", user);
  out->note_length = make_note(seed, out->note);
  out->created = 1600000000000 + 37000 * (int64_t)number;
  out->modified = out->created + (int64_t)(mix64(seed + 0x600000000u) % 10000000000u);
}

uint64_t pick(uint64_t t, uint64_t n) { return mix64(t + 0xABC000000000u) % n; }
double new_price(uint64_t t) { return (double)(mix64(t + 0xDEF000000000u) % 1000000) / 100; }
int64_t new_modified(uint64_t t) { return 1700000000000 + 1000 * (int64_t)t; }
