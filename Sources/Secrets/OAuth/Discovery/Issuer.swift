package import Policy

/// The issuer identifier of an authorization server (RFC 8414 section 2).
package struct Issuer: Sendable, Equatable {
  /// The identifier as the user wrote it. The server's metadata must contain exactly this text.
  package let text: String
  private let endpoint: Endpoint

  /// Parses an https URL without query and fragment.
  package init(parsing text: String) throws(PolicySyntaxError) {
    endpoint = try Endpoint(parsing: text)
    self.text = text
  }

  package var origin: Origin { endpoint.origin }

  /// The URLs at which servers publish their metadata (RFC 8414 sections 3 and 5, OpenID Connect Discovery section 4).
  package var locations: [Endpoint] {
    var path = String(decoding: endpoint.target, as: UTF8.self)
    while path.hasSuffix("/") { path.removeLast() }
    let known = "/.well-known/"
    let paths = [
      "\(known)oauth-authorization-server\(path)", "\(known)openid-configuration\(path)",
      "\(path)\(known)openid-configuration",
    ]
    var found: [Endpoint] = []
    for path in paths {
      // The parts are valid, so their combination is valid too.
      guard let location = try? Endpoint(parsing: "\(origin)\(path)"), !found.contains(location) else { continue }
      found.append(location)
    }
    return found
  }
}
