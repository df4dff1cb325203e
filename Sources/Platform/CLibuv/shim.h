#pragma once
#include <sys/socket.h>
#include <time.h>
#include <uv.h>

#if UV_VERSION_HEX < 0x012c00
#error "bearerd needs libuv 1.44 or newer"
#endif

// Declared by glibc for _GNU_SOURCE only.
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// Swift imports SOCK_NONBLOCK and SOCK_CLOEXEC as an enum, not as Int32.
static inline int bearerd_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
  return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static inline int bearerd_stream_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// The time-stamp counter of the processor, read without a system call. `LoopTurn` calibrates it.
static inline uint64_t bearerd_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return uv_hrtime();
#endif
}
