#include "image.h"

#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_ROW = sizeof(Row) + 256 };

size_t put_row(const Record *record, uint8_t *out) {
  Row *row = (Row *)out;
  memcpy(row->id, record->id, ID_SIZE);
  row->fixed = (Fixed){.seq = record->seq,
                       .category = record->category,
                       .created = record->created,
                       .modified = record->modified,
                       .price = record->price,
                       .done = (uint8_t)record->done,
                       .owner_length = (uint8_t)record->owner_length,
                       .note_length = (uint8_t)record->note_length};
  memcpy(row->strings, record->owner, (size_t)record->owner_length);
  memcpy(row->strings + record->owner_length, record->note, (size_t)record->note_length);
  size_t size = sizeof *row + (size_t)record->owner_length + (size_t)record->note_length;
  while (size % 8) out[size++] = 0;
  return size;
}

// The ids are random already: their own bits are the hash.
static uint32_t first_slot(const uint8_t id[ID_SIZE]) {
  uint32_t bits;
  memcpy(&bits, id, sizeof bits);
  return bits % SLOTS;
}

Image *build_image(size_t *size) {
  Image *image = calloc(1, sizeof *image + (size_t)BIG * LARGEST_ROW);
  if (!image) fail("memory", "none left");
  uint32_t end = 0;
  Record record;
  for (uint32_t i = 0; i < BIG; i++) {
    make_record(i, &record);
    image->offsets[i] = end;
    end += (uint32_t)put_row(&record, image->rows + end);
    uint32_t slot = first_slot(record.id);
    while (image->slots[slot]) slot = (slot + 1) % SLOTS;
    image->slots[slot] = i + 1;
  }
  image->offsets[BIG] = end;
  *size = sizeof *image + end;
  return image;
}

void write_image(const char *path) {
  size_t size;
  Image *image = build_image(&size);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, image, size) != (ssize_t)size || close(file)) fail("write", path);
  free(image);
}

Image *map_image(const char *path, int advice) {
  struct stat info;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &info)) fail("open", path);
  size_t size = (size_t)info.st_size;
  void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED || madvise(bytes, size, advice)) fail("map", path);
  close(file);
  return bytes;
}

Row *find_row(const Image *image, const uint8_t id[ID_SIZE]) {
  for (uint32_t slot = first_slot(id); image->slots[slot]; slot = (slot + 1) % SLOTS) {
    Row *row = row_at(image, image->slots[slot] - 1);
    if (!memcmp(row->id, id, ID_SIZE)) return row;
  }
  fail("probe", "a record is missing");
}
