internal import CLibuv

/// A libuv or socket call that failed: which, and why.
package struct UVError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The function that failed: `uv_tcp_connect`.
  package let operation: String
  /// Negative libuv status; for system calls the negative errno.
  package let status: Int32

  package init(operation: String, status: Int32) {
    self.operation = operation
    self.status = status
  }

  /// `uv_tcp_connect: ECONNREFUSED (connection refused)`
  package var description: String {
    // Both libuv functions answer unknown statuses from a leaked allocation; the _r forms write into ours.
    let (name, text) = (
      Self.text { uv_err_name_r(status, $0, $1) }, Self.text { uv_strerror_r(status, $0, $1) }
    )
    return "\(operation): \(name) (\(text))"
  }

  package var isConnectionRefused: Bool { status == UV_ECONNREFUSED.rawValue }
  package var isConnectionReset: Bool { status == UV_ECONNRESET.rawValue || status == UV_EPIPE.rawValue }
  package var isAddressInUse: Bool { status == UV_EADDRINUSE.rawValue }
  /// The machine has no such address: `::1` without IPv6.
  package var isAddressNotAvailable: Bool {
    status == UV_EADDRNOTAVAIL.rawValue || status == UV_EAFNOSUPPORT.rawValue
  }
  /// A name that does not exist, or has no address. Every other failure of a lookup says nothing about the name.
  package var isNoSuchName: Bool {
    status == UV_EAI_NONAME.rawValue || status == UV_EAI_NODATA.rawValue || status == UV_EAI_ADDRFAMILY.rawValue
  }
  /// The process (EMFILE) or the system (ENFILE) has no descriptor left.
  package var isTooManyFiles: Bool { status == UV_EMFILE.rawValue || status == UV_ENFILE.rawValue }

  private static func text(_ write: (UnsafeMutablePointer<CChar>, Int) -> UnsafeMutablePointer<CChar>?) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let start = buffer.baseAddress, let text = write(start, buffer.count) else { return "" }
      return String(cString: text)
    }
  }
}

/// The funnel of every libuv call whose failure matters.
@discardableResult
func check(_ status: CInt, _ operation: StaticString) throws(UVError) -> CInt {
  guard status >= 0 else { throw UVError(operation: "\(operation)", status: status) }
  return status
}
