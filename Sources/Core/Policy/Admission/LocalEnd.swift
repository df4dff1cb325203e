/// The address and port of this machine's end of a connection, where the listener does not name it: one that was accepted on
/// `0.0.0.0`, say. `Host` may be this literal address. No page can have a browser write it for another server: the name that
/// a page had pointed here (DNS rebinding) stands in `Host` as that name.
package final class LocalEnd: Sendable, Equatable {
  private let authorities: Authorities

  package init(ip: IPAddress, port: UInt16) {
    authorities = Authorities(["\(ip.bytes.count == 16 ? "[\(ip)]" : "\(ip)"):\(port)"])
  }

  /// - Parameter authority: `192.0.2.2:7070`, `[2001:db8::1]:7070`, or without a port, which is 80 then. nil: it is no literal
  ///   address.
  package convenience init?(_ authority: String) {
    let bytes = Array(authority.utf8)
    let colon = bytes.lastIndex(of: UInt8(ascii: ":")).flatMap { bytes.last == UInt8(ascii: "]") ? nil : $0 }
    var host = bytes[..<(colon ?? bytes.count)]
    if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") { host = host.dropFirst().dropLast() }
    let digits = colon.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
    // No end of a connection has the address that stands for all.
    guard let ip = IPAddress(parsing: String(decoding: host, as: UTF8.self)), !ip.isUnspecified,
      let port = digits.map(UInt16.init) ?? 80
    else { return nil }
    self.init(ip: ip, port: port)
  }

  /// The name that `text` is; nil: it is another one.
  func named(_ text: Span<UInt8>) -> Authorities.Name? { authorities.named(text) }

  package static func == (one: LocalEnd, other: LocalEnd) -> Bool { one.authorities == other.authorities }
}
