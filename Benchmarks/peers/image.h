// The floor's snapshot: a table of slots, the offsets, then {id, fixed fields, strings} one record
// after another. Built in memory, or mapped from a file and probed in place.
#pragma once
#include "dataset.h"

#include <stdbool.h>
#include <stddef.h>

enum { SLOTS = 1 << 18 };

typedef struct {
  int64_t seq, category, created, modified;
  double price;
  uint8_t done, owner_length, note_length, unused[5];
} Fixed;

typedef struct {
  uint32_t slots[SLOTS];        // record + 1, or 0
  uint32_t offsets[BIG + 1];
  uint8_t rows[];               // each begins at a multiple of 8
} Image;

typedef struct {
  uint8_t id[ID_SIZE];
  Fixed fixed;
  char strings[];               // the owner, then the note
} Row;

size_t put_row(const Record *record, uint8_t *out);

Image *build_image(size_t *size);
void write_image(const char *path);
Image *map_image(const char *path, int advice);  // to the kernel: MADV_RANDOM or MADV_NORMAL

static inline Row *row_at(const Image *image, uint32_t number) {
  return (Row *)(image->rows + image->offsets[number]);
}

Row *find_row(const Image *image, const uint8_t id[ID_SIZE]);  // it must be there
