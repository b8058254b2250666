#define _GNU_SOURCE
#include "harness.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *peer_name = "?", *workload_name = "?";

void begin(const char *peer, const char *workload) {
  const char *slash = strrchr(peer, '/');
  peer_name = slash ? slash + 1 : peer;
  workload_name = workload;
}

const char *workload(void) { return workload_name; }
bool workload_is(const char *name) { return !strcmp(workload_name, name); }

void figure(const char *metric, double value) {
  printf("%s\t%s\t%s\t%.6g\n", workload_name, peer_name, metric, value);
  fflush(stdout);
}

void fail(const char *what, const char *why) {
  fprintf(stderr, "%s %s: %s: %s\n", workload_name, peer_name, what, why ? why : "no reason given");
  exit(1);
}

// Sums of doubles in another order may differ in their last bits, not in a cent.
void check(double result, double expected) {
  if (fabs(result - expected) < 0.005) return;
  char text[80];
  snprintf(text, sizeof text, "%.2f instead of %.2f", result, expected);
  fail("wrong result", text);
}

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double quantile(double *values, int count, double q) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[(int)(q * (count - 1) + 0.5)];
}

static double counter(const char *path, const char *key) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path, "cannot be opened");
  char line[256];
  double value = NAN;
  while (isnan(value) && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key))) value = atof(line + strlen(key));
  fclose(file);
  return value;
}

double bytes_written(void) { return counter("/proc/self/io", "wchar:"); }
double bytes_read_from_disk(void) { return counter("/proc/self/io", "read_bytes:"); }
double peak_memory(void) { return counter("/proc/self/status", "VmHWM:") * 1024; }

void join_path(char *out, size_t size, const char *directory, const char *name) {
  if (snprintf(out, size, "%s/%s", directory, name) >= (int)size) fail(directory, "path too long");
}

double raw_durable_loop(const char *directory, int count, double *median) {
  static char block[1 << 20];
  char path[4096];
  join_path(path, sizeof path, directory, "raw-loop");
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, block, sizeof block) != sizeof block || fsync(file))
    fail("raw loop", path);
  memset(block, 7, 256);
  double *seconds = malloc((size_t)count * sizeof *seconds), start = now();
  for (int i = 0; i < count; i++) {
    double before = now();
    if (pwrite(file, block, 256, 256 * i) != 256 || fdatasync(file)) fail("raw loop", path);
    seconds[i] = now() - before;
  }
  double rate = count / (now() - start);
  *median = quantile(seconds, count, 0.5);
  free(seconds);
  close(file);
  unlink(path);
  return rate;
}

void durable_figures(const char *directory, double *seconds, int count, double total,
                     double bytes) {
  double median = quantile(seconds, count, 0.5), raw_median;
  double raw = raw_durable_loop(directory, 1000, &raw_median);
  figure("commits_per_s", count / total);
  figure("p50_us", median * 1e6);
  figure("p99_us", quantile(seconds, count, 0.99) * 1e6);
  figure("written_B", bytes / count);
  figure("raw_per_s", raw);
  figure("share_of_raw", count / total / raw);
  figure("over_raw_us", (median - raw_median) * 1e6);
}
