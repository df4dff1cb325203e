import Foundation

/// A sanitizer watches this build, and so the programs that it starts: it keeps memory longer, locks none, and at the end looks
/// at all threads.
package let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
