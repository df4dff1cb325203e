/// The origin and base path to which a service's requests are sent.
package struct Upstream: Sendable, Equatable {
  /// The upstream's identity: the name in its certificate, the `Host` field, and the origin of credentials and cookies.
  package private(set) var origin: Origin
  /// The host to which bearerd connects; `nil` if it is the host of `origin`.
  package private(set) var dialHost: HostName?
  /// The canonical path, which begins and ends with `/`.
  package let basePath: [UInt8]
  package var allowedAddresses: [AddressBlock] = []

  /// Parses a URL such as `https://api.example.com/v1/`, and adds a missing closing slash. Throws for a query,
  /// fragment, userinfo or `..` segment.
  package init(parsing text: String) throws(PolicySyntaxError) {
    let parts = try URLParts(text, example: "https://api.example.com/v1/")
    origin = parts.origin
    var path = parts.path
    if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
    var target = CanonicalTarget()
    do throws(PolicyRefusal) {
      // Not removed, because its author probably means another path.
      if PathReading.hasDotSegment(path) { throw .dotSegment }
      try target.read(path.span)
      if !ByteClass.isWrittenAsSent(path) { throw .forbiddenCharacter }
    } catch {
      if error == .dotSegment {
        throw PolicySyntaxError("the path of \(quoted(text)) has a . or .. segment, which is not allowed")
      }
      if error == .badEscape {
        throw PolicySyntaxError("the path of \(quoted(text)) has a % without two hexadecimal digits after it")
      }
      throw PolicySyntaxError("the path of \(quoted(text)) has a character that RFC 3986 does not allow")
    }
    if zip(path, path.dropFirst()).contains(where: { $0 == 0x2f && $1 == 0x2f }) {
      throw PolicySyntaxError("the path of \(quoted(text)) has an empty segment (//), which is not allowed")
    }
    // With the closing slash, `/v1` can never become `/v1evil`.
    basePath = target.path
  }

  package init(_ origin: Origin, allowedAddresses: [AddressBlock]) {
    self.origin = origin
    basePath = [UInt8(ascii: "/")]
    self.allowedAddresses = allowedAddresses
  }

  /// Gives the upstream another name than the host of its URL. bearerd then only connects to the URL's host.
  package mutating func setServerName(_ name: HostName) {
    let host = hostToDial
    origin = Origin(scheme: origin.scheme, host: name, port: origin.port)
    dialHost = name == host ? nil : host
  }

  package var hostToDial: HostName { dialHost ?? origin.host }

  /// The origin whose host is the one to which bearerd connects.
  package var dialedOrigin: Origin { Origin(scheme: origin.scheme, host: hostToDial, port: origin.port) }

  /// Whether a URL with this origin refers to the upstream.
  package func isReached(by other: Origin) -> Bool {
    if other == origin { return true }
    guard let dialHost else { return false }
    return other.host == dialHost && other.port == origin.port && other.scheme == origin.scheme
  }

  /// Whether bearerd may connect to this address for the upstream. Check the address of the connection, not an earlier
  /// DNS result. An IP address in the upstream's URL permits only itself. `localhost` permits loopback addresses.
  package func permits(_ address: IPAddress) -> Bool {
    let host = hostToDial
    switch host {
    case .address(let literal): return address == literal
    case .name:
      if host.isLocal, address.isLoopback { return true }
      // Plain http never leaves the machine.
      if origin.scheme == .http { return false }
      if allowedAddresses.contains(where: { $0.contains(address) }) { return true }
      return !host.isLocal && !address.isForbiddenByDefault
    }
  }
}
