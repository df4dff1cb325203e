internal import Primitives

/// The redirect URI of a login in a browser, which leads back to this machine (RFC 8252 section 7.3).
package struct LoopbackRedirect: Sendable, Hashable {
  package let isIPv6: Bool
  /// The port in the redirect URI. 0 for any free port.
  package let port: UInt16
  /// The path as registered with the server. Empty, or begins with `/`.
  package let path: String

  package static let standard = LoopbackRedirect(isIPv6: false, port: 0, path: "/callback")

  /// The redirect URI as registered with the server.
  package var registeredURI: String { port == 0 ? "http://\(host)\(path)" : uri(port: port) }

  package func uri(port: UInt16) -> String { "http://\(host):\(port)\(path)" }

  private var host: String { isIPv6 ? "[::1]" : "127.0.0.1" }

  /// Returns the `Host` values that a browser may send to this port.
  package func authorities(port: UInt16) -> [String] {
    port == 80 ? ["\(host):80", host] : ["\(host):\(port)"]
  }

  private init(isIPv6: Bool, port: UInt16, path: String) {
    self.isIPv6 = isIPv6
    self.port = port
    self.path = path
  }

  package enum Problem: Error {
    /// The URL has a host name instead of an IP address (RFC 8252 section 8.3).
    case name
    case other
  }

  /// Parses a URL like `http://127.0.0.1/callback`.
  package init(parsing text: String) throws(Problem) {
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
