// The floor of `group`: threads that each write 256 bytes into one file and share syncs, and do nothing
// else. One syncs while the others wait; who syncs next first waits for those that the last sync has
// served, half as long as it took at most: without that two halves take turns.
// Usage: group group DIRECTORY
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 256, FRAMES = 16000, THREADS = 8 };

static int file;
static double end;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER, turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static long written;  // under log_lock; the rest under turn
static long done, wanted[THREADS];
static int waiting, expected, total;
static bool is_syncing, is_timed;
static double deadline;

static void forget(long upto) {
  int kept = 0;
  for (int i = 0; i < waiting; i++) {
    if (wanted[i] > upto) wanted[kept++] = wanted[i];
  }
  waiting = kept;
}

// Waits until `target` is durable; false if it is the caller's turn to sync.
static bool is_reached(long target) {
  wanted[waiting++] = target;
  while (done < target) {
    bool gathers = waiting < expected && now() < deadline;
    if (is_syncing || (gathers && is_timed)) {
      pthread_cond_wait(&changed, &turn);
    } else if (gathers) {
      struct timespec until = {(time_t)deadline, (long)((deadline - (double)(time_t)deadline) * 1e9)};
      is_timed = true;
      pthread_cond_timedwait(&changed, &turn, &until);
      is_timed = false;
    } else {
      is_syncing = true;
      return false;
    }
  }
  return true;
}

static void reach(long target) {
  pthread_mutex_lock(&turn);
  bool reached = done >= target || is_reached(target);
  pthread_mutex_unlock(&turn);
  if (reached) return;
  pthread_mutex_lock(&log_lock);
  long upto = written;
  pthread_mutex_unlock(&log_lock);
  double before = now();
  if (fdatasync(file)) fail("sync", strerror(errno));
  double after = now();
  pthread_mutex_lock(&turn);
  is_syncing = is_timed = false;
  expected = waiting;
  deadline = after + (after - before) / 2;
  done = upto;
  forget(upto);
  pthread_mutex_unlock(&turn);
  pthread_cond_broadcast(&changed);
}

static void *commits(void *unused) {
  (void)unused;
  char frame[FRAME];
  memset(frame, 7, sizeof frame);
  int count = 0;
  for (; now() < end; count++) {
    pthread_mutex_lock(&log_lock);
    long number = ++written;
    if (pwrite(file, frame, FRAME, number % FRAMES * FRAME) != FRAME) fail("write", strerror(errno));
    pthread_mutex_unlock(&log_lock);
    reach(number);
  }
  pthread_mutex_lock(&turn);
  total += count;
  pthread_mutex_unlock(&turn);
  return NULL;
}

static double rate(int threads) {
  pthread_t thread[THREADS];
  total = waiting = expected = 0;
  double start = now();
  end = start + 1;
  for (int i = 0; i < threads; i++) {
    if (pthread_create(&thread[i], NULL, commits, NULL)) fail("start", "a thread");
  }
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  return total / (now() - start);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  begin("floor", arguments[1]);
  pthread_condattr_t clock;
  if (pthread_condattr_init(&clock) || pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) ||
      pthread_cond_init(&changed, &clock))
    fail("make", "a condition");
  char place[4096];
  join_path(place, sizeof place, arguments[2], "file");
  file = open(place, O_RDWR | O_CREAT | O_TRUNC, 0644);
  char *zeros = calloc(FRAMES, FRAME);
  if (file < 0 || !zeros || write(file, zeros, FRAMES * FRAME) != FRAMES * FRAME || fsync(file))
    fail("create", place);
  free(zeros);
  double one = rate(1);
  figure("commits_1_per_s", one);
  for (int threads = 2; threads <= THREADS; threads *= 2) {
    double many = rate(threads);
    if (threads == 4) figure("commits_4_per_s", many);
    figure(threads == 2 ? "times_2" : threads == 4 ? "times_4" : "times_8", many / one);
  }
  close(file);
}
