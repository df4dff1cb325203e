internal import COpenSSL
internal import Glibc
internal import Synchronization

/// Wipes memory that OpenSSL frees while it reads a private key.
enum FreedMemory {
  // OpenSSL 3.0 wipes its key objects, but not the DER and the base64 from which its decoders make them.

  /// Runs `body`. Meanwhile, OpenSSL wipes all memory that it frees on any thread.
  static func wiped<Result, Failure: Error>(during body: () throws(Failure) -> Result) throws(Failure) -> Result {
    readers.add(1, ordering: .relaxed)
    defer { readers.subtract(1, ordering: .relaxed) }
    return try body()
  }

  /// Replaces OpenSSL's functions for memory. Returns `false` if OpenSSL has allocated memory before.
  static func install() -> Bool {
    CRYPTO_set_mem_functions(
      nil, { block, size, _, _ in resize(block, to: size) }, { block, _, _ in release(block) }) == 1
  }
}

/// Number of calls of `wiped` that are running.
private let readers = Atomic<Int>(0)

private func release(_ block: UnsafeMutableRawPointer?) {
  if readers.load(ordering: .relaxed) > 0, let block { OPENSSL_cleanse(block, malloc_usable_size(block)) }
  free(block)
}

private func resize(_ block: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer? {
  guard size > 0 else {
    release(block)
    return nil
  }
  guard readers.load(ordering: .relaxed) > 0, let block else { return realloc(block, size) }
  guard let new = malloc(size) else { return nil }
  new.copyMemory(from: block, byteCount: min(size, malloc_usable_size(block)))
  release(block)
  return new
}
