/// The local address and port of a connection. `Host` may name this address, even if the listener is bound to
/// `0.0.0.0`.
package final class LocalEnd: Sendable, Equatable {
  private let authorities: Authorities

  package init(ip: IPAddress, port: UInt16) {
    authorities = Authorities(["\(ip.bytes.count == 16 ? "[\(ip)]" : "\(ip)"):\(port)"])
  }

  /// Parses `192.0.2.2:7070`, `[2001:db8::1]:7070`, or an address without port, which means 80. `nil` for other text.
  package convenience init?(_ authority: String) {
    let bytes = Array(authority.utf8)
    let colon = bytes.lastIndex(of: UInt8(ascii: ":")).flatMap { bytes.last == UInt8(ascii: "]") ? nil : $0 }
    var host = bytes[..<(colon ?? bytes.count)]
    if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") { host = host.dropFirst().dropLast() }
    let digits = colon.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
    // No connection has the unspecified address.
    guard let ip = IPAddress(parsing: String(decoding: host, as: UTF8.self)), !ip.isUnspecified,
      let port = digits.map(UInt16.init) ?? 80
    else { return nil }
    self.init(ip: ip, port: port)
  }

  func name(matching text: Span<UInt8>) -> Authorities.Name? { authorities.name(matching: text) }

  package static func == (one: LocalEnd, other: LocalEnd) -> Bool { one.authorities == other.authorities }
}
