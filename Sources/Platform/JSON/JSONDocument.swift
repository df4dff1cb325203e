internal import CJansson
internal import Glibc

/// One JSON object (RFC 8259), read by jansson. What it holds is secret: its memory is wiped when it ends, and its texts are
/// lent, never made Strings by themselves.
///
/// Strict: an object at the top, no key twice in any, nothing behind it, UTF-8 throughout, no NUL in a text.
package struct JSONDocument: ~Copyable {
  package enum Problem: Error, Equatable { case tooLarge, tooDeep, malformed }

  /// The kind of a value; `absent` where there is none, or where an object on the way is none.
  package enum Kind { case absent, null, boolean, number, string, array, object }

  /// Bytes. No server has more to say.
  package static let maximumSize = 65_536
  /// Answers have one level, their extensions some more. jansson would follow 2048.
  static let maximumDepth = 16
  /// Each costs as much as many bytes of a text (T60), and no answer has as many.
  static let maximumValues = 8_192

  private let root: UnsafeMutablePointer<json_t>

  package init(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    guard bytes.count <= Self.maximumSize else { throw .tooLarge }
    let (depth, values) = Self.extent(of: bytes)
    guard depth <= Self.maximumDepth, values <= Self.maximumValues else { throw .tooDeep }
    JanssonMemory.prepare()
    var error = json_error_t()
    // Its text repeats what stood near the error
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

  /// The kind of the value at these names, each within the one before.
  package func kind(_ path: StaticString...) -> Kind {
    Self.kind(of: value(path))
  }

  private static func kind(of value: UnsafeMutablePointer<json_t>?) -> Kind {
    guard let value else { return .absent }
    return switch value.pointee.type {
    case JSON_OBJECT: .object
    case JSON_ARRAY: .array
    case JSON_STRING: .string
    case JSON_INTEGER, JSON_REAL: .number
    case JSON_TRUE, JSON_FALSE: .boolean
    default: .null
    }
  }

  /// Lends a text; nil: there is none there.
  package func withText<Result: ~Copyable, Failure: Error>(
    _ path: StaticString..., body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let value = value(path), let start = json_string_value(value) else { return nil }
    return try body(UnsafeRawBufferPointer(start: start, count: json_string_length(value)))
  }

  /// nil: there is none there. Integers, too, so that none is too large to be read at all.
  package func number(_ path: StaticString...) -> Double? {
    guard let value = value(path), value.pointee.type == JSON_REAL else { return nil }
    return json_real_value(value)
  }

  /// The kind of the value at names that are known at run time only. A number names an element where an array stands.
  package func kind(at path: [String]) -> Kind { Self.kind(of: value(path)) }

  package func withText<Result: ~Copyable, Failure: Error>(
    at path: [String], body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let value = value(path), let start = json_string_value(value) else { return nil }
    return try body(UnsafeRawBufferPointer(start: start, count: json_string_length(value)))
  }

  package func number(at path: [String]) -> Double? {
    guard let value = value(path), value.pointee.type == JSON_REAL else { return nil }
    return json_real_value(value)
  }

  private func value(_ path: [String]) -> UnsafeMutablePointer<json_t>? {
    var value: UnsafeMutablePointer<json_t>? = root
    for name in path {
      guard let here = value else { return nil }
      if here.pointee.type == JSON_ARRAY {
        guard let index = Int(name), index >= 0 else { return nil }
        value = json_array_get(here, index)
      } else {
        value = name.withCString { json_object_get(here, $0) }
      }
    }
    return value
  }

  private func value(_ path: [StaticString]) -> UnsafeMutablePointer<json_t>? {
    var value: UnsafeMutablePointer<json_t>? = root
    for name in path {
      value = json_object_get(value, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    }
    return value
  }

  /// How many brackets are open at once, outside of texts, and how many values there are at least. What is no JSON gets some
  /// numbers, and is refused later.
  private static func extent(of bytes: UnsafeRawBufferPointer) -> (depth: Int, values: Int) {
    var values = 0
    var (depth, deepest, isText, isEscaped) = (0, 0, false, false)
    for byte in bytes {
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isText = true
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
