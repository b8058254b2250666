// Stands between a program and the system (LD_PRELOAD), and does to its files what disks and kernels
// do. What is in CAIRN_SHIM, as mode:number:number. Calls are counted over all threads.
//
//   count        nothing but counting
//   kill:N       SIGKILL before call N
//   half:N       half of write N, then SIGKILL
//   error:N:E    call N fails with error E
//   errors:N:E   so do all from there on
//   short:SEED   writes and reads are short at random, and calls are interrupted
//   lost:N       write N says yes and does nothing
//   flip:N:BIT   write N has one bit turned
//   read:N:BIT   what read N gives has one bit turned
//   nosync       syncs say yes and do nothing
//
// CAIRN_SHIM_TALLY names a file of zeros, as long as `struct tally`. It is mapped, so that what was
// counted, and above all how often this has struck, is there after any end. Shim.swift reads it.
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NONE, COUNT, KILL, HALF, SHORT, LOST, FLIP, READ, NOSYNC, ERROR, ERRORS };
// Both in the order of Shim.swift.
enum { FAILED, INTERRUPTED, SHORT_WRITE, SHORT_READ, LOST_WRITE, FLIPPED, MISREAD, UNSYNCED, KILLED };
enum { NOTHING, PWRITE, PREAD, FDATASYNC, FSYNC, OPEN, RENAME, UNLINK, MKDIR, FTRUNCATE, UNLINKAT,
       FALLOCATE, FLOCK };

struct tally {
  atomic_ullong calls, writes, reads;
  // What was done to the program, and to which function last.
  atomic_ullong strikes[12], struck;
  // Which function each call was.
  unsigned char functions[1 << 16];
};

static int mode = NONE;
static unsigned long long first, second;
static atomic_ullong state;
static struct tally alone, *tally = &alone;

__attribute__((constructor)) static void begin(void) {
  static const char *names[] = {"none", "count", "kill",   "half",  "short", "lost",
                                "flip", "read",  "nosync", "error", "errors"};
  const char *path = getenv("CAIRN_SHIM_TALLY");
  // Not through the functions of this file.
  int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
  if (file >= 0) {
    void *map = mmap(NULL, sizeof(struct tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) tally = map;
    syscall(SYS_close, file);
  }
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

static void strike(int what, int function) {
  atomic_fetch_add(&tally->strikes[what], 1);
  atomic_store(&tally->struck, function);
}

static unsigned long long random_word(void) {
  unsigned long long word = atomic_fetch_add(&state, 0x9E3779B97F4A7C15ull);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

// Before each call. Whether it is to fail.
static int enter(int function) {
  unsigned long long number = atomic_fetch_add(&tally->calls, 1) + 1;
  if (number < sizeof tally->functions) tally->functions[number] = function;
  if (mode == KILL && number == first) {
    strike(KILLED, function);
    kill(getpid(), SIGKILL);
  }
  if ((mode == ERROR && number == first) || (mode == ERRORS && number >= first)) {
    strike(FAILED, function);
    errno = (int)second;
    return 1;
  }
  if (mode == SHORT && random_word() % 8 == 0) {
    strike(INTERRUPTED, function);
    errno = EINTR;
    return 1;
  }
  return 0;
}

// As much of a transfer as is done.
static size_t shortened(size_t count, int what, int function) {
  if (mode != SHORT || count < 2 || random_word() % 2 == 0) return count;
  strike(what, function);
  return 1 + random_word() % (count - 1);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t write_at(int file, const void *bytes, size_t count, off_t offset) {
  static __typeof__(&pwrite) real;
  if (!real) real = REAL(pwrite);
  if (enter(PWRITE)) return -1;
  unsigned long long number = atomic_fetch_add(&tally->writes, 1) + 1;
  count = shortened(count, SHORT_WRITE, PWRITE);
  if (number != first || !count) return real(file, bytes, count, offset);
  if (mode == LOST) {
    strike(LOST_WRITE, PWRITE);
    return count;
  }
  if (mode == HALF) {
    real(file, bytes, count / 2, offset);
    strike(KILLED, PWRITE);
    kill(getpid(), SIGKILL);
  }
  if (mode != FLIP) return real(file, bytes, count, offset);
  strike(FLIPPED, PWRITE);
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
  if (mode == SHORT && enter(PREAD)) return -1;
  count = shortened(count, SHORT_READ, PREAD);
  unsigned long long number = atomic_fetch_add(&tally->reads, 1) + 1;
  ssize_t result = real(file, bytes, count, offset);
  if (mode == READ && number == first && result > 0) {
    strike(MISREAD, PREAD);
    ((unsigned char *)bytes)[second / 8 % result] ^= 1 << second % 8;
  }
  return result;
}

ssize_t pwrite(int f, const void *b, size_t c, off_t o) { return write_at(f, b, c, o); }
ssize_t pwrite64(int f, const void *b, size_t c, off_t o) { return write_at(f, b, c, o); }
ssize_t pread(int f, void *b, size_t c, off_t o) { return read_at(f, b, c, o); }
ssize_t pread64(int f, void *b, size_t c, off_t o) { return read_at(f, b, c, o); }

static int unsynced(int function) {
  if (mode != NOSYNC) return 0;
  strike(UNSYNCED, function);
  return 1;
}

int fdatasync(int file) {
  if (enter(FDATASYNC)) return -1;
  return unsynced(FDATASYNC) ? 0 : REAL(fdatasync)(file);
}

int fsync(int file) {
  if (enter(FSYNC)) return -1;
  return unsynced(FSYNC) ? 0 : REAL(fsync)(file);
}

static int open_real(int directory, const char *path, int flags, mode_t permissions) {
  static __typeof__(&openat) real;
  if (!real) real = REAL(openat);
  int is_system = !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5);
  if (!is_system && enter(OPEN)) return -1;
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

int rename(const char *from, const char *to) {
  return enter(RENAME) ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path) { return enter(UNLINK) ? -1 : REAL(unlink)(path); }
int mkdir(const char *path, mode_t m) { return enter(MKDIR) ? -1 : REAL(mkdir)(path, m); }

int ftruncate(int file, off_t size) {
  return enter(FTRUNCATE) ? -1 : REAL(ftruncate)(file, size);
}

int unlinkat(int directory, const char *path, int flags) {
  return enter(UNLINKAT) ? -1 : REAL(unlinkat)(directory, path, flags);
}

int posix_fallocate(int file, off_t offset, off_t size) {
  return enter(FALLOCATE) ? errno : REAL(posix_fallocate)(file, offset, size);
}

int flock(int file, int operation) {
  int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  return enter(FLOCK) ? -1 : real(file, operation);
}
