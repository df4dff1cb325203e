internal import COpenSSL

/// Reads the blocks of a PEM file (RFC 7468), one by one.
struct PEMReader: ~Copyable {
  enum Outcome { case block, end, unreadable }

  private let bio: OpaquePointer

  /// - Parameter bytes: The file. It must outlive the reader.
  init(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    let empty: StaticString = ""
    let start = bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
    guard let bio = BIO_new_mem_buf(start, Int32(clamping: bytes.count)) else {
      throw .internalError("BIO_new_mem_buf")
    }
    self.bio = bio
  }

  deinit { BIO_free(bio) }

  /// Calls `body` with the label and the decoded content of the next block. Text between blocks is skipped.
  mutating func next<Failure: Error>(
    _ body: (String, UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Outcome {
    var label: UnsafeMutablePointer<CChar>?
    var header: UnsafeMutablePointer<CChar>?
    var data: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = PEM_read_bio(bio, &label, &header, &data, &length)
    defer {
      bearerd_OPENSSL_free(label)
      bearerd_OPENSSL_free(header)
      // Wiped, because it may be a private key.
      if let data { CRYPTO_clear_free(data, max(length, 0), #fileID, #line) }
    }
    guard status == 1, let label else {
      let isEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
      ERR_clear_error()
      return isEnd ? .end : .unreadable
    }
    try body(String(cString: label), UnsafeRawBufferPointer(start: data, count: max(length, 0)))
    return .block
  }
}
