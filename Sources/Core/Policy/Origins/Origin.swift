/// Scheme, host and port: what a grant names (RFC 6454). The port is always explicit in the value.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  package enum Scheme: String, Sendable { case http, https }
  package let scheme: Scheme
  package let host: HostName
  /// 1-65535.
  package let port: UInt16

  package init(scheme: Scheme, host: HostName, port: UInt16) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// `https://api.example.com` or `https://api.example.com:8443`; a path other than `/`, a query, a fragment, userinfo
  /// or `*` is an error.
  package init(parsing text: String) throws(OriginError) {
    let parts = try URLParts(text, example: "https://api.example.com")
    guard parts.path.isEmpty || parts.path == [UInt8(ascii: "/")] else {
      throw OriginError("the origin \(quoted(text)) has a path: expected \(parts.origin)")
    }
    self = parts.origin
  }

  /// The value of the Host field: with the port only when it is not the scheme's own.
  package var authority: String {
    port == scheme.defaultPort ? host.description : "\(host):\(port)"
  }

  package var description: String { "\(scheme.rawValue)://\(authority)" }
}

extension Origin.Scheme {
  /// 80 or 443 (RFC 9110 §4.2).
  package var defaultPort: UInt16 {
    switch self {
    case .http: 80
    case .https: 443
    }
  }
}

/// Why a text of the configuration is refused.
package struct OriginError: Error, Equatable, Sendable {
  /// One sentence for a person: what was wanted, what came.
  package let message: String
  package init(_ message: String) { self.message = message }
}
