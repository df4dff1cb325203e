package import HTTP1

/// A container registry's bearer challenge: the service and the scopes for which a token is needed.
package struct RegistryChallenge: Sendable, Hashable {
  package let service: [UInt8]?
  /// The requested scopes without duplicates, such as `repository:library/ubuntu:pull`.
  package let scopes: [[UInt8]]

  private static let longestText = 1_024
  private static let mostScopes = 16

  /// Returns the first bearer challenge with this realm; `nil` if there is none, or if a field cannot be parsed.
  package static func find(in head: ResponseHead, realm: Endpoint) -> RegistryChallenge? {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return nil }
    for challenge in challenges where FieldName.matches(challenge.scheme, of: bytes, "bearer") {
      if let found = RegistryChallenge(challenge, of: bytes, realm: realm) { return found }
    }
    return nil
  }

  private init?(_ challenge: Challenge, of bytes: Span<UInt8>, realm: Endpoint) {
    guard let url = challenge.value(of: "realm", in: bytes), Self.isValid(url),
      (try? Endpoint(parsing: String(decoding: url, as: UTF8.self))) == realm
    else { return nil }
    service = challenge.value(of: "service", in: bytes)
    if let service, !Self.isValid(service) { return nil }
    let scope = challenge.value(of: "scope", in: bytes) ?? []
    guard Self.isValid(scope) else { return nil }
    var scopes: [[UInt8]] = []
    for word in scope.split(separator: UInt8(ascii: " ")).map(Array.init) where !scopes.contains(word) {
      guard scopes.count < Self.mostScopes else { return nil }
      scopes.append(word)
    }
    self.scopes = scopes
  }

  private static func isValid(_ text: [UInt8]) -> Bool {
    text.count <= longestText && text.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }
}
