/// A host as it is compared: a lower-case LDH name without trailing dot, or an IP address.
package enum HostName: Hashable, Sendable, CustomStringConvertible {
  case name(String)
  case address(IPAddress)

  /// Without port. IPv6 in brackets. Refuses userinfo, percent-escapes, non-ASCII (says to write punycode), numeric look-alikes, `*`, empty labels.
  package init(parsing text: String) throws(OriginError) { fatalError() }
  /// As in a URL: IPv6 in brackets.
  package var description: String { fatalError() }
  /// `localhost`, `*.localhost`, or a loopback address.
  package var isLocal: Bool { fatalError() }
}

/// Scheme, host and port: what a grant names (RFC 6454). The port is always explicit in the value.
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

  /// `https://api.example.com` or `https://api.example.com:8443`; a path other than `/`, a query, a fragment, userinfo or `*` is an error.
  package init(parsing text: String) throws(OriginError) { fatalError() }

  /// What goes into the Host field: the port only when it is not the scheme's own.
  package var authority: String { fatalError() }
  package var description: String { fatalError() }
}

package struct OriginError: Error, Equatable, Sendable {
  /// One sentence for a person: what was wanted, what came.
  package let message: String
  package init(_ message: String) { self.message = message }
}
