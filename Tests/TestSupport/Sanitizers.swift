import Foundation

/// Whether this build has a sanitizer, and with it the programs that the tests start. A sanitizer keeps memory longer,
/// does not lock memory, and checks all threads at the end.
package let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
