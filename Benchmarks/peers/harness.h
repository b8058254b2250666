// What every peer needs beside its store: a clock, counters, and lines of figures.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Names the program in its figures and messages. Call first.
void begin(const char *peer, const char *workload);
const char *workload(void);
bool workload_is(const char *name);

// Prints `workload TAB peer TAB metric TAB value`.
void figure(const char *metric, double value);

// Ends the process with status 1 unless the workload came to the right result.
void check(double result, double expected);
_Noreturn void fail(const char *what, const char *why);

double now(void);                              // seconds of a monotonic clock
double quantile(double *values, int count, double q);  // sorts them

double bytes_written(void);                    // given to write calls by this process so far
double bytes_read_from_disk(void);
double peak_memory(void);                      // bytes of RAM at the highest point

void join_path(char *out, size_t size, const char *directory, const char *name);

// What the disk itself allows: pwrite of 256 bytes + fdatasync, `count` times, in a file whose
// blocks exist. Returns the rate a second and stores the median in seconds.
double raw_durable_loop(const char *directory, int count, double *median);

// The figures of W1, then the raw loop beside them. `seconds` holds one time a commit.
void durable_figures(const char *directory, double *seconds, int count, double total, double bytes);
