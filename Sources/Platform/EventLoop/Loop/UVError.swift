internal import CLibuv

package struct UVError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  /// The negative status of the libuv function.
  package let status: Int32

  /// For example `uv_tcp_connect: ECONNREFUSED (connection refused)`.
  package var description: String {
    // Without `_r`, both functions leak memory for an unknown status.
    let name = Self.text { uv_err_name_r(status, $0, $1) }
    return "\(operation): \(name) (\(Self.text { uv_strerror_r(status, $0, $1) }))"
  }

  package var isConnectionRefused: Bool { status == UV_ECONNREFUSED.rawValue }
  package var isAddressInUse: Bool { status == UV_EADDRINUSE.rawValue }
  /// `true` if the machine does not have the address, such as `::1` without IPv6.
  package var isAddressNotAvailable: Bool {
    status == UV_EADDRNOTAVAIL.rawValue || status == UV_EAFNOSUPPORT.rawValue
  }
  /// `true` if the name does not exist or has no address.
  package var isNoSuchName: Bool {
    status == UV_EAI_NONAME.rawValue || status == UV_EAI_NODATA.rawValue || status == UV_EAI_ADDRFAMILY.rawValue
  }
  package var isTooManyFiles: Bool { status == UV_EMFILE.rawValue || status == UV_ENFILE.rawValue }

  private static func text(_ write: (UnsafeMutablePointer<CChar>, Int) -> UnsafeMutablePointer<CChar>?) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let start = buffer.baseAddress, let text = write(start, buffer.count) else { return "" }
      return String(cString: text)
    }
  }
}

/// Returns `status`, or throws if it is negative.
@discardableResult
func check(_ status: CInt, _ operation: StaticString) throws(UVError) -> CInt {
  guard status >= 0 else { throw UVError(operation: "\(operation)", status: status) }
  return status
}
