internal import Crypto
@_spi(SecretBytes) internal import Secrets
internal import System

/// Proof Key for Code Exchange (RFC 7636).
enum PKCE {
  /// Returns the S256 challenge (section 4.2). `nil` if OpenSSL fails.
  static func challenge(of verifier: borrowing Secret) throws(SystemError) -> String? {
    var digest: [UInt8] = []
    let isDone = verifier.withBytes { sha256(of: $0.bindMemory(to: UInt8.self).span, into: &digest) }
    guard isDone else { return nil }
    var text = try Secret(capacity: 43, in: SecretArena())
    try text.appendBase64URL(digest)
    return text.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
