package import HTTP1
internal import Primitives

/// Entries of `Sec-WebSocket-Protocol` that carry a credential, because pages can set no other field of a WebSocket's request.
package enum CredentialSubprotocol {
  package static func names(_ field: Field, of bytes: [UInt8]) -> Bool {
    FieldName.resembles(field.name, of: bytes.span, "sec-websocket-protocol")
  }

  /// Whether the entry is a credential of any kind, by what it begins with.
  package static func isCredential(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    for row in CredentialFieldTable.subprotocols where begins(bytes[entry], with: row.name) { return true }
    return false
  }

  /// The text behind Kubernetes' prefix, if it is as long as a client token.
  static func decoded(_ entry: ArraySlice<UInt8>) -> [UInt8]? {
    let prefix = CredentialFieldTable.kubernetesSubprotocol
    guard begins(entry, with: prefix) else { return nil }
    let digits = entry.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "=") }
    guard digits.count == ClientToken.length * 4 / 3 else { return nil }
    return Base64.decode(
      digits.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 })
  }

  private static func begins(_ entry: ArraySlice<UInt8>, with prefix: String) -> Bool {
    entry.count >= prefix.utf8.count && zip(entry, prefix.utf8).allSatisfy { ByteClass.lowercased($0) == $1 }
  }
}
