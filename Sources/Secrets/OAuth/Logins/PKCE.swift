internal import Crypto
@_spi(SecretBytes) internal import Secrets
internal import System

/// RFC 7636.
enum PKCE {
  /// S256 (section 4.2); nil: OpenSSL cannot. No secret: the browser shows it to everybody.
  static func challenge(of verifier: borrowing Secret) throws(SystemError) -> String? {
    var digest: [UInt8] = []
    let isDone = verifier.withBytes { sha256(of: $0.bindMemory(to: UInt8.self).span, into: &digest) }
    guard isDone else { return nil }
    var text = try Secret(capacity: 43, in: SecretArena())
    try text.appendBase64URL(digest)
    return text.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
