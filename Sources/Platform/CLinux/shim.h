#pragma once
#include <grp.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/sock_diag.h>
#include <malloc.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

// Swift cannot call variadic functions such as prctl and syscall.
static inline int bearerd_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
long syscall(long number, ...);
static inline int bearerd_openat2(int directory, const char *path, unsigned long long flags, unsigned long long resolve) {
  struct open_how how = {.flags = flags, .mode = 0, .resolve = resolve};
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

// O_PATH, which glibc declares only for _GNU_SOURCE. The value is the same on all supported architectures.
static inline int bearerd_path_only(void) { return 010000000; }

// Swift 6 does not allow access to mutable C globals.
extern char **environ;
static inline char **bearerd_environment(void) { return environ; }

// glibc declares `ucred` only for _GNU_SOURCE.
struct bearerd_ucred {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

// glibc declares pthread_cond_clockwait only for _GNU_SOURCE.
#include <pthread.h>
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *lock, clockid_t clock, const struct timespec *end);

// Swift imports SOCK_STREAM and its flags as an enum, not as Int32.
static inline int bearerd_socket(int family, int protocol) {
  return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
}
static inline int bearerd_stream_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static inline int bearerd_signal_descriptor(const sigset_t *signals) {
  return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Starts a program. In C, because only async-signal-safe calls are allowed between fork and exec. The kernel sends
// `parent_death` to the child when the thread that created it ends. The child has its own process group, so that Ctrl-C in
// the terminal reaches only bearerd. The child runs as `user` and `group`, without other groups, unless `user` is (uid_t)-1.
// A change of user clears the parent-death signal, so the signal is set after the change.
static inline pid_t bearerd_spawn(const char *path, char *const arguments[], int standard_error, int parent_death, uid_t user,
                                  gid_t group) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) return child;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setpgid(0, 0);
  if (user != (uid_t)-1 && (setgroups(1, &group) != 0 || setgid(group) != 0 || setuid(user) != 0)) _exit(127);
  if (prctl(PR_SET_PDEATHSIG, parent_death) != 0 || getppid() != parent) _exit(127);
  if (dup2(standard_error, STDERR_FILENO) < 0) _exit(127);
  execv(path, arguments);
  _exit(127);
}

// Starts a program that prints a secret (T42). The program gets its own session without a terminal, so that it cannot ask
// for a password. It inherits no descriptors, environment, working directory or signal handlers. Exit status 126 or 127, as
// in a shell, means that the program could not be started. The three descriptors must be greater than 2.
static inline pid_t bearerd_spawn_helper(const char *path, char *const arguments[], char *const environment[],
                                         int input, int output, int errors) {
  sigset_t signals, before;
  // Otherwise libuv's handlers would report signals of the child to bearerd between fork and exec.
  sigfillset(&signals);
  pthread_sigmask(SIG_SETMASK, &signals, &before);
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) {
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return child;
  }
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigemptyset(&signals);
  sigprocmask(SIG_SETMASK, &signals, NULL);
  setsid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(126);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0) _exit(126);
  if (chdir("/") != 0) _exit(126);
  closefrom(3);
  execve(path, arguments, environment);
  _exit(errno == ENOENT ? 127 : 126);
}

// Forks a process that may block forever. Its only descriptor is 3, for output. It inherits no other descriptor, because
// the program that started bearerd may wait until all copies of its pipes are closed.
static inline pid_t bearerd_fork_writer(int output) {
  pid_t child = fork();
  if (child != 0) return child;
  if (output != 3 && dup2(output, 3) < 0) _exit(127);
  closefrom(4);
  for (int standard = 0; standard < 3; standard++) close(standard);
  return 0;
}

// Older headers do not declare pidfd_open, and glibc declares splice only for _GNU_SOURCE.
static inline int bearerd_pidfd(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline long bearerd_splice(int from, int to, size_t count) {
  return syscall(SYS_splice, from, NULL, to, NULL, count, 2 /* SPLICE_F_NONBLOCK */);
}
// Writes one bit per processor to `set`, and returns the number of bytes written.
static inline long bearerd_affinity(void *set, size_t count) { return syscall(SYS_sched_getaffinity, 0, count, set); }
static inline int bearerd_boot_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }
