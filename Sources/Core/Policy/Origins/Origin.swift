/// Scheme, host and port (RFC 6454), always with an explicit port.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  package enum Scheme: String, Sendable { case http, https }
  package let scheme: Scheme
  package let host: HostName
  package let port: UInt16

  package init(scheme: Scheme, host: HostName, port: UInt16) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Parses `https://api.example.com` or `https://api.example.com:8443`. Throws if the text has more than scheme, host
  /// and port.
  package init(parsing text: String) throws(PolicySyntaxError) {
    let parts = try URLParts(text, example: "https://api.example.com")
    guard parts.path.isEmpty || parts.path == [UInt8(ascii: "/")] else {
      throw PolicySyntaxError("the origin \(quoted(text)) has a path: expected \(parts.origin)")
    }
    self = parts.origin
  }

  /// The value of a `Host` field for this origin, without the scheme's default port.
  package var authority: String {
    port == scheme.defaultPort ? host.description : "\(host):\(port)"
  }

  package var description: String { "\(scheme.rawValue)://\(authority)" }
}

extension Origin.Scheme {
  package var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// Why a text in the configuration is invalid.
package struct PolicySyntaxError: Error, Equatable, Sendable {
  package let message: String
  package init(_ message: String) { self.message = message }
}
