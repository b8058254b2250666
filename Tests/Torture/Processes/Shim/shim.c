// Stands between a program and the system (LD_PRELOAD), and does to its files what disks and kernels
// do. What is in CAIRN_SHIM, as mode:number:number. Calls are counted over all threads.
//
//   count        nothing; at the end the number of calls goes to the file in CAIRN_SHIM_COUNT
//   kill:N       SIGKILL before call N
//   half:N       half of write N, then SIGKILL
//   error:N:E    call N fails with error E
//   errors:N:E   so do all from there on
//   short:SEED   writes and reads are short at random, and calls are interrupted
//   lost:N       write N says yes and does nothing
//   flip:N:BIT   write N has one bit turned
//   read:N:BIT   what read N gives has one bit turned
//   nosync       syncs say yes and do nothing
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE, COUNT, KILL, HALF, SHORT, LOST, FLIP, READ, NOSYNC, ERROR, ERRORS };
static int mode = NONE;
static unsigned long long first, second;
static atomic_ullong calls, writes, reads, state;

__attribute__((constructor)) static void begin(void) {
  static const char *names[] = {"none", "count", "kill",   "half",  "short", "lost",
                                "flip", "read",  "nosync", "error", "errors"};
  const char *text = getenv("CAIRN_SHIM");
  if (!text) return;
  for (int i = 0; i < 11; i++) {
    size_t length = strlen(names[i]);
    if (strncmp(text, names[i], length) || (text[length] && text[length] != ':')) continue;
    mode = i;
    if (text[length]) {
      char *rest;
      first = strtoull(text + length + 1, &rest, 10);
      if (*rest == ':') second = strtoull(rest + 1, NULL, 10);
    }
  }
  atomic_store(&state, first);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("CAIRN_SHIM_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%llu %llu %llu\n", atomic_load(&calls), atomic_load(&writes), atomic_load(&reads));
  fclose(file);
}

static unsigned long long random_word(void) {
  unsigned long long word = atomic_fetch_add(&state, 0x9E3779B97F4A7C15ull);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

// Before each call. Whether it is to fail.
static int enter(void) {
  unsigned long long number = atomic_fetch_add(&calls, 1) + 1;
  if (mode == KILL && number == first) kill(getpid(), SIGKILL);
  if ((mode == ERROR && number == first) || (mode == ERRORS && number >= first)) {
    errno = (int)second;
    return 1;
  }
  if (mode == SHORT && random_word() % 8 == 0) {
    errno = EINTR;
    return 1;
  }
  return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t write_at(int file, const void *bytes, size_t count, off_t offset) {
  static __typeof__(&pwrite) real;
  if (!real) real = REAL(pwrite);
  if (enter()) return -1;
  unsigned long long number = atomic_fetch_add(&writes, 1) + 1;
  if (mode == SHORT && count > 1 && random_word() % 2) count = 1 + random_word() % (count - 1);
  if (number != first) return real(file, bytes, count, offset);
  if (mode == LOST) return count;
  if (mode == HALF) {
    real(file, bytes, count / 2, offset);
    kill(getpid(), SIGKILL);
  }
  if (mode != FLIP || !count) return real(file, bytes, count, offset);
  unsigned char *copy = malloc(count);
  memcpy(copy, bytes, count);
  copy[second / 8 % count] ^= 1 << second % 8;
  ssize_t result = real(file, copy, count, offset);
  free(copy);
  return result;
}

static ssize_t read_at(int file, void *bytes, size_t count, off_t offset) {
  static __typeof__(&pread) real;
  if (!real) real = REAL(pread);
  if (mode == SHORT) {
    if (enter()) return -1;
    if (count > 1 && random_word() % 2) count = 1 + random_word() % (count - 1);
  }
  unsigned long long number = atomic_fetch_add(&reads, 1) + 1;
  ssize_t result = real(file, bytes, count, offset);
  if (mode == READ && number == first && result > 0)
    ((unsigned char *)bytes)[second / 8 % result] ^= 1 << second % 8;
  return result;
}

ssize_t pwrite(int f, const void *b, size_t c, off_t o) { return write_at(f, b, c, o); }
ssize_t pwrite64(int f, const void *b, size_t c, off_t o) { return write_at(f, b, c, o); }
ssize_t pread(int f, void *b, size_t c, off_t o) { return read_at(f, b, c, o); }
ssize_t pread64(int f, void *b, size_t c, off_t o) { return read_at(f, b, c, o); }

int fdatasync(int file) {
  if (enter()) return -1;
  return mode == NOSYNC ? 0 : REAL(fdatasync)(file);
}

int fsync(int file) {
  if (enter()) return -1;
  return mode == NOSYNC ? 0 : REAL(fsync)(file);
}

static int open_real(int directory, const char *path, int flags, mode_t permissions) {
  static __typeof__(&openat) real;
  if (!real) real = REAL(openat);
  int is_system = !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5);
  if (!is_system && enter()) return -1;
  return real(directory, path, flags, permissions);
}

#define PERMISSIONS()                                       \
  mode_t permissions = 0;                                   \
  if (flags & (O_CREAT | O_TMPFILE)) {                      \
    va_list list;                                           \
    va_start(list, flags);                                  \
    permissions = va_arg(list, mode_t);                     \
    va_end(list);                                           \
  }

int open(const char *path, int flags, ...) {
  PERMISSIONS();
  return open_real(AT_FDCWD, path, flags, permissions);
}

int open64(const char *path, int flags, ...) {
  PERMISSIONS();
  return open_real(AT_FDCWD, path, flags, permissions);
}

int openat(int directory, const char *path, int flags, ...) {
  PERMISSIONS();
  return open_real(directory, path, flags, permissions);
}

int rename(const char *from, const char *to) { return enter() ? -1 : REAL(rename)(from, to); }
int unlink(const char *path) { return enter() ? -1 : REAL(unlink)(path); }
int mkdir(const char *path, mode_t m) { return enter() ? -1 : REAL(mkdir)(path, m); }
int ftruncate(int file, off_t size) { return enter() ? -1 : REAL(ftruncate)(file, size); }

int unlinkat(int directory, const char *path, int flags) {
  return enter() ? -1 : REAL(unlinkat)(directory, path, flags);
}

int posix_fallocate(int file, off_t offset, off_t size) {
  return enter() ? errno : REAL(posix_fallocate)(file, offset, size);
}

int flock(int file, int operation) {
  int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  return enter() ? -1 : real(file, operation);
}
