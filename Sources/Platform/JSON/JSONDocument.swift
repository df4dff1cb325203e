internal import CJansson
internal import Glibc
internal import System

/// A JSON object (RFC 8259) with secret contents, whose memory is wiped before it is freed. Duplicate keys, invalid
/// UTF-8 and NUL in strings are errors.
package struct JSONDocument: ~Copyable {
  package enum Problem: Error, Equatable { case tooLarge, tooDeep, malformed }

  /// The kind of a value. `absent` if there is no value.
  package enum Kind { case absent, null, boolean, number, string, array, object }

  /// Maximum size of a document in bytes.
  package static let maximumSize = 65_536
  static let maximumDepth = 16
  /// Maximum number of values (T60).
  static let maximumValues = 8_192

  private let root: UnsafeMutablePointer<json_t>
  /// Installs the allocator of jansson, before any other function of jansson is called.
  private static let wipesMemory: Bool = {
    json_set_alloc_funcs({ WipedMemory.allocate($0) }, { WipedMemory.free($0) })
    return true
  }()

  package init(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    guard bytes.count <= Self.maximumSize else { throw .tooLarge }
    let (depth, values) = Self.extent(of: bytes)
    guard depth <= Self.maximumDepth, values <= Self.maximumValues else { throw .tooDeep }
    _ = Self.wipesMemory
    var error = json_error_t()
    // The error text quotes the input near the error.
    defer { withUnsafeMutableBytes(of: &error) { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } } }
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL)
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard let root = json_loadb(start, bytes.count, flags, &error) else { throw .malformed }
    guard root.pointee.type == JSON_OBJECT else {
      json_decref(root)
      throw .malformed
    }
    self.root = root
  }

  deinit { json_decref(root) }

  package func kind(_ path: String...) -> Kind { kind(at: path) }

  package func kind(at path: [String]) -> Kind {
    guard let value = value(path) else { return .absent }
    return switch value.pointee.type {
    case JSON_OBJECT: .object
    case JSON_ARRAY: .array
    case JSON_STRING: .string
    case JSON_INTEGER, JSON_REAL: .number
    case JSON_TRUE, JSON_FALSE: .boolean
    default: .null
    }
  }

  package func withText<Result: ~Copyable, Failure: Error>(
    _ path: String..., body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withText(at: path, body: body)
  }

  /// Returns the truth value at a path. `nil` if there is none.
  package func flag(_ path: String...) -> Bool? {
    switch value(path)?.pointee.type {
    case JSON_TRUE: true
    case JSON_FALSE: false
    default: nil
    }
  }

  package func number(_ path: String...) -> Double? { number(at: path) }

  /// Calls `body` with the bytes of the string at a path. Returns `nil` if there is no string. An element for an array
  /// is an index, such as `0`.
  package func withText<Result: ~Copyable, Failure: Error>(
    at path: [String], body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let value = value(path), let start = json_string_value(value) else { return nil }
    return try body(UnsafeRawBufferPointer(start: start, count: json_string_length(value)))
  }

  /// Returns the number at a path. `nil` if there is no number.
  package func number(at path: [String]) -> Double? {
    guard let value = value(path), value.pointee.type == JSON_REAL else { return nil }
    return json_real_value(value)
  }

  private func value(_ path: [String]) -> UnsafeMutablePointer<json_t>? {
    var value: UnsafeMutablePointer<json_t>? = root
    for name in path {
      guard let current = value else { return nil }
      if current.pointee.type == JSON_ARRAY {
        guard let index = Int(name), index >= 0 else { return nil }
        value = json_array_get(current, index)
      } else {
        value = json_object_get(current, name)
      }
    }
    return value
  }

  /// Returns the nesting depth, and a lower bound for the number of values.
  private static func extent(of bytes: UnsafeRawBufferPointer) -> (depth: Int, values: Int) {
    // The result may be wrong for invalid JSON, which the parser refuses later.
    var (values, depth, deepest, isInString, isEscaped) = (0, 0, 0, false, false)
    for byte in bytes {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        values += 1
        deepest = max(deepest, depth)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ","): values += 1
      default: break
      }
    }
    return (deepest, values)
  }
}
