package import HTTP1

/// A container registry's wish: for what it wants a token, and where that is to be had (the token flow of the OCI distribution
/// specification's servers). It comes from an upstream, which may say anything: the place counts only if it is the one that the
/// configuration names, and the rest is short and visible.
package struct RegistryChallenge: Sendable, Hashable {
  /// nil: it names none.
  package let service: [UInt8]?
  /// In their order, each once: `repository:library/ubuntu:pull`.
  package let scopes: [[UInt8]]

  private static let longestText = 1_024
  private static let mostScopes = 16

  /// The first challenge for a bearer token that names this realm; nil: there is none, or a line cannot be read.
  package static func find(in head: ResponseHead, realm: Endpoint) -> RegistryChallenge? {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return nil }
    for challenge in challenges where FieldName.matches(challenge.scheme, of: bytes, "bearer") {
      if let found = RegistryChallenge(challenge, of: bytes, realm: realm) { return found }
    }
    return nil
  }

  private init?(_ challenge: Challenge, of bytes: Span<UInt8>, realm: Endpoint) {
    guard let place = challenge.value(of: "realm", in: bytes), Self.isGood(place) else { return nil }
    do throws(OriginError) {
      guard try Endpoint(parsing: String(decoding: place, as: UTF8.self)) == realm else { return nil }
    } catch {
      return nil
    }
    service = challenge.value(of: "service", in: bytes)
    if let service, !Self.isGood(service) { return nil }
    let scope = challenge.value(of: "scope", in: bytes) ?? []
    guard Self.isGood(scope) else { return nil }
    var scopes: [[UInt8]] = []
    for word in scope.split(separator: UInt8(ascii: " ")).map(Array.init) where !scopes.contains(word) {
      guard scopes.count < Self.mostScopes else { return nil }
      scopes.append(word)
    }
    self.scopes = scopes
  }

  private static func isGood(_ text: [UInt8]) -> Bool {
    text.count <= longestText && text.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }
}
