#pragma once
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <malloc.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// prctl is variadic, which Swift cannot call.
static inline int bearerd_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
