internal import Policy
import Primitives

/// The place to which a browser brings back what its login came to: on this machine (RFC 8252 section 7.3).
package struct LoopbackRedirect: Sendable, Equatable {
  package let isIPv6: Bool
  /// 0: whichever is free (section 7.3: servers have to allow any).
  package let port: UInt16
  /// As it is registered: empty, or `/` and visible ASCII without query, fragment and escapes.
  package let path: String

  package static let standard = LoopbackRedirect(isIPv6: false, port: 0, path: "/callback")

  /// The URI that the server is told, with the port that was bound.
  package func uri(port: UInt16) -> String { "http://\(host):\(port)\(path)" }

  private var host: String { isIPv6 ? "[::1]" : "127.0.0.1" }

  /// The values of `Host` that a browser sends when it comes back to that port.
  package func authorities(port: UInt16) -> [String] {
    port == 80 ? ["\(host):80", host] : ["\(host):\(port)"]
  }

  private init(isIPv6: Bool, port: UInt16, path: String) {
    self.isIPv6 = isIPv6
    self.port = port
    self.path = path
  }

  enum Problem: Error {
    /// A name can be made to lead elsewhere (section 8.3).
    case name
    case other
  }

  /// `http://127.0.0.1/callback`, `http://[::1]:4711/`
  init(parsing text: String) throws(Problem) {
    let scheme = "http://"
    guard text.hasPrefix(scheme) else { throw .other }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" }
    path = String(rest[authority.endIndex...])
    if authority == "localhost" || authority.hasPrefix("localhost:") { throw .name }
    let hosts = ["127.0.0.1", "[::1]"]
    guard let host = hosts.first(where: { authority == $0 || authority.hasPrefix($0 + ":") }) else { throw .other }
    isIPv6 = host == hosts[1]
    let digits = authority.dropFirst(host.count + 1)
    if authority.count == host.count {
      port = 0
    } else {
      guard digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(digits), number > 0 else {
        throw .other
      }
      port = number
    }
    let isPlain = path.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "/-._~".utf8.contains($0) }
    guard isPlain else { throw .other }
  }
}
