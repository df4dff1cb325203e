@_spi(SecretBytes) package import Secrets
internal import Primitives
package import System

// A token of OAuth 1.0 and its secret as one value: `TOKEN&SECRET`, both percent-encoded (RFC 5849 section 3.6). A login
// stores and renews this value like any other token.
extension Secret {
  /// Joins a token and its secret.
  package static func oauth1Pair(
    token: borrowing Secret, secret: borrowing Secret, in arena: SecretArena
  ) throws(SystemError) -> Secret {
    var pair = try Secret(capacity: token.count + secret.count + 1, in: arena)
    try token.withBytes { (bytes) throws(SystemError) in try pair.append(escaped: bytes) }
    try pair.append(UInt8(ascii: "&"))
    try secret.withBytes { (bytes) throws(SystemError) in try pair.append(escaped: bytes) }
    return pair
  }

  /// Returns the token of a pair, or its secret. `nil` if the value is not a pair.
  borrowing func oauth1Part(isSecret: Bool, in arena: SecretArena) throws(SystemError) -> Secret? {
    try withBytes { (bytes) throws(SystemError) -> Secret? in
      guard let middle = bytes.firstIndex(of: UInt8(ascii: "&")) else { return nil }
      let part = isSecret ? bytes[(middle + 1)...] : bytes[..<middle]
      var decoded = try Secret(capacity: max(1, part.count), in: arena)
      var index = part.startIndex
      while index < part.endIndex {
        if part[index] != UInt8(ascii: "%") {
          try decoded.append(part[index])
          index += 1
          continue
        }
        guard part.endIndex - index >= 3, let high = ASCII.hexValue(part[index + 1]),
          let low = ASCII.hexValue(part[index + 2])
        else { return nil }
        try decoded.append(high << 4 | low)
        index += 3
      }
      return decoded
    }
  }
}
