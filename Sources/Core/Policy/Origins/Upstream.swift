/// The place where a service's requests go.
package struct Upstream: Sendable, Equatable {
  package let origin: Origin
  /// Canonical, begins and ends with `/`.
  package let basePath: [UInt8]
  package var allowedAddresses: [AddressBlock] = []

  /// `https://api.example.com/v1/`. A query, fragment, userinfo or dot segment is an error; a missing closing slash is
  /// added, so that `/v1` can never become `/v1evil`.
  package init(parsing text: String) throws(OriginError) {
    let parts = try URLParts(text, example: "https://api.example.com/v1/")
    origin = parts.origin
    var path = parts.path
    if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
    var target = CanonicalTarget()
    do throws(PolicyRefusal) {
      // A dot segment in a file means something else to its author.
      if PathReading.hasDotSegment(path) { throw .dotSegment }
      try target.read(path.span)
      if !ByteClass.isWrittenAsSent(path) { throw .forbiddenCharacter }
    } catch {
      if error == .dotSegment {
        throw OriginError("the path of \(quoted(text)) has a . or .. segment, which is not allowed")
      }
      if error == .badEscape {
        throw OriginError("the path of \(quoted(text)) has a % without two hexadecimal digits after it")
      }
      throw OriginError("the path of \(quoted(text)) has a character that RFC 3986 does not allow")
    }
    if zip(path, path.dropFirst()).contains(where: { $0 == 0x2f && $1 == 0x2f }) {
      throw OriginError("the path of \(quoted(text)) has an empty segment (//), which is not allowed")
    }
    basePath = target.path
  }

  /// All of an origin.
  package init(_ origin: Origin, allowedAddresses: [AddressBlock]) {
    self.origin = origin
    basePath = [UInt8(ascii: "/")]
    self.allowedAddresses = allowedAddresses
  }

  /// May a connection for this upstream go to this address? Asked for the address that is dialled, never for an earlier
  /// answer of the resolver. A literal IP or `localhost` in the upstream's URL is its own permission, and the only one.
  package func permits(_ address: IPAddress) -> Bool {
    switch origin.host {
    case .address(let literal): return address == literal
    case .name:
      if origin.host.isLocal, address.isLoopback { return true }
      // Plain http never leaves the machine.
      if origin.scheme == .http { return false }
      if allowedAddresses.contains(where: { $0.contains(address) }) { return true }
      return !origin.host.isLocal && !address.isForbiddenByDefault
    }
  }
}
