package import Settings

/// The secrets of one token request, by role. They are wiped with the object.
package final class TokenSecrets {
  package typealias Role = TokenSecretRole

  private var boxes: [Role: SecretBox] = [:]

  package init() {}

  package func put(_ role: Role, _ secret: consuming Secret) { boxes[role] = SecretBox(secret) }

  package func has(_ role: Role) -> Bool { boxes[role] != nil }

  /// Lends the bytes for the duration of the call. Returns `nil` if there is no secret for the role.
  @_spi(SecretBytes) public func withBytes<Result: ~Copyable, Failure: Error>(
    of role: Role, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let box = boxes[role] else { return nil }
    return try box.secret.withBytes(body)
  }
}

/// A reference to a secret, which a collection can contain.
final class SecretBox {
  let secret: Secret
  init(_ secret: consuming Secret) { self.secret = secret }
}
