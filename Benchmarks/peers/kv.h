// A key-value store as kv.c sees it: keys are ids, values are packed records.
#pragma once
#include "store.h"

// Pointers are good until the next call.
const void *kv_get(const uint8_t id[ID_SIZE], size_t *size);
void kv_put(const uint8_t id[ID_SIZE], const void *value, size_t size);
void kv_each(void (*visit)(const uint8_t *value));
