internal import Primitives

/// A JSON document that the daemon writes and `bearerctl` reads.
///
/// The document has the properties in the same order, with names such as `last_status` for `lastStatus`. A nested object,
/// a Boolean, an array or an optional of an optional that is `nil` is omitted. Numbers and texts that are `nil` are
/// written as `null`.
package protocol ControlResponse: Codable, Equatable, Sendable {}

extension ControlResponse {
  package var json: [UInt8] {
    let encoder = ResponseEncoder()
    do {
      try encoder.write(self, nil)
    } catch {
      preconditionFailure("a response has only values that can be written: \(error)")
    }
    return encoder.json.bytes
  }
}

/// Writes a response. The event loop serves no client meanwhile, and thousands of services are possible.
/// Therefore numbers and texts have functions of their own in `ResponseContainer`, which need no dynamic cast.
private final class ResponseEncoder: Encoder {
  var json = JSONWriter(hasSnakeCaseNames: true)
  /// The brackets that close the open containers.
  private var brackets: [String] = []

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Writes a value with the name of its member, or `nil` in an array.
  func write<Value: Encodable>(_ value: Value, _ name: String?) throws {
    if Value.self == [UInt64].self, let numbers = value as? [UInt64] {
      return json.array(name) { json in for number in numbers { json.member(nil, number) } }
    }
    json.begin(name)
    try value.encode(to: self)
    json.close(brackets.removeLast())
  }

  private func open<Key>(_ opening: String, _ closing: String) -> ResponseContainer<Key> {
    json.open(opening)
    brackets.append(closing)
    return ResponseContainer(encoder: self)
  }

  func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { KeyedEncodingContainer(open("{", "}")) }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { open("[", "]") as ResponseContainer<NoKey> }
  func singleValueContainer() -> any SingleValueEncodingContainer { open("", "") as ResponseContainer<NoKey> }
}

private enum NoKey: CodingKey {}

/// The members of an object, the elements of an array, or an optional.
private struct ResponseContainer<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer,
  SingleValueEncodingContainer
{
  let encoder: ResponseEncoder

  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  // Members of an object.
  func encode(_ text: String, forKey key: Key) { encoder.json.member(key.stringValue, text) }
  func encode(_ flag: Bool, forKey key: Key) { encoder.json.member(key.stringValue, flag) }
  func encode(_ number: UInt64, forKey key: Key) { encoder.json.member(key.stringValue, number) }
  func encode(_ number: Int, forKey key: Key) { encoder.json.member(key.stringValue, UInt64(clamping: number)) }
  func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.write(value, key.stringValue) }
  func encodeIfPresent(_ text: String?, forKey key: Key) { encoder.json.member(key.stringValue, text) }
  func encodeIfPresent(_ number: UInt64?, forKey key: Key) { encoder.json.member(key.stringValue, number) }
  func encodeIfPresent(_ number: Int?, forKey key: Key) {
    encoder.json.member(key.stringValue, number.map { UInt64(clamping: $0) })
  }
  func encodeNil(forKey key: Key) { encoder.json.member(key.stringValue, nil as String?) }

  // Elements of an array, and values of an optional of an optional.
  func encode(_ text: String) { encoder.json.member(nil, text) }
  func encode(_ number: Int) { encoder.json.member(nil, UInt64(clamping: number)) }
  func encode(_ number: UInt64) { encoder.json.member(nil, number) }
  func encode(_ value: some Encodable) throws { try encoder.write(value, nil) }
  func encodeNil() { encoder.json.member(nil, nil as String?) }

  // The compiler's `encode(to:)` calls none of the following functions.
  func nestedContainer<Name>(keyedBy type: Name.Type, forKey key: Key) -> KeyedEncodingContainer<Name> { unused() }
  func nestedContainer<Name>(keyedBy type: Name.Type) -> KeyedEncodingContainer<Name> { unused() }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { unused() }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { unused() }
  func superEncoder() -> any Encoder { unused() }
  func superEncoder(forKey key: Key) -> any Encoder { unused() }
  private func unused() -> Never { preconditionFailure("unused") }
}

// The compiler's `init(from:)` calls these functions instead of the standard library's. A running daemon may be of an
// earlier version than bearerctl. A member that such a daemon does not send has a default value.
extension KeyedDecodingContainer {
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decodeIfPresent(type, forKey: key) ?? "" }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decodeIfPresent(type, forKey: key) ?? false }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decodeIfPresent(type, forKey: key) ?? 0 }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decodeIfPresent(type, forKey: key) ?? 0 }
  func decode<T: Decodable>(_ type: [T].Type, forKey key: Key) throws -> [T] {
    try decodeIfPresent(type, forKey: key) ?? []
  }
}
