internal import HTTP1

/// The meaning of one element of Content-Encoding or Accept-Encoding (RFC 9110 sections 8.4.1 and 12.5.3).
enum NamedCoding: Equatable {
  case identity
  case decodable(ContentCoding)
  /// A known coding that bearerd cannot decode.
  case undecodable
  case unknown

  /// Names from IANA's registry of HTTP content codings, and unregistered names that servers use.
  private static let undecodableNames = [
    "br", "zstd", "compress", "x-compress", "dcb", "dcz", "aes128gcm", "exi", "pack200-gzip", "brotli", "x-brotli",
    "zstandard", "x-zstd", "bzip2", "x-bzip2", "bzip", "x-bzip", "xz", "x-xz", "lzma", "x-lzma", "lz4", "x-lz4",
    "snappy", "x-snappy", "x-snappy-framed", "sdch", "zip", "x-zip", "x-deflate", "xpress", "peerdist",
  ]

  /// Classifies one element of the list by its name, without its parameters.
  init(_ element: Range<Int>, in bytes: Span<UInt8>) {
    var name = NamedCoding.name(of: element, in: bytes)
    // A quoted name is invalid, but its sender has probably used the coding.
    let isQuoted =
      name.count > 2 && bytes[name.lowerBound] == UInt8(ascii: "\"") && bytes[name.upperBound - 1] == UInt8(ascii: "\"")
    if isQuoted { name = (name.lowerBound + 1)..<(name.upperBound - 1) }
    if FieldName.matches(name, of: bytes, "identity") {
      self = isQuoted ? .unknown : .identity
    } else if let coding = NamedCoding.decodable(name, in: bytes) {
      self = isQuoted ? .undecodable : .decodable(coding)
    } else {
      self =
        NamedCoding.undecodableNames.contains { FieldName.matches(name, of: bytes, $0) } ? .undecodable : .unknown
    }
  }

  /// Whether a body with the coding of this element of Accept-Encoding can be searched.
  static func isSearchable(_ element: Range<Int>, in bytes: Span<UInt8>) -> Bool {
    let name = name(of: element, in: bytes)
    return decodable(name, in: bytes) != nil || FieldName.matches(name, of: bytes, "identity")
  }

  /// Returns the coding with this name, or `nil` if it cannot be decoded.
  private static func decodable(_ name: Range<Int>, in bytes: Span<UInt8>) -> ContentCoding? {
    if FieldName.matches(name, of: bytes, "gzip") || FieldName.matches(name, of: bytes, "x-gzip") { return .gzip }
    return FieldName.matches(name, of: bytes, "deflate") ? .deflate : nil
  }

  private static func name(of element: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
    var end = element.lowerBound
    while end < element.upperBound, bytes[end] != UInt8(ascii: ";") { end += 1 }
    while end > element.lowerBound, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return element.lowerBound..<end
  }

  /// Whether an element of Accept-Encoding excludes its coding with `;q=0` (RFC 9110 section 12.4.2).
  static func isExcluded(_ element: Range<Int>, in bytes: Span<UInt8>) -> Bool {
    var index = element.lowerBound
    while index < element.upperBound, bytes[index] != UInt8(ascii: ";") { index += 1 }
    let weight = (index..<element.upperBound).filter { bytes[$0] != 0x20 && bytes[$0] != 0x09 }
    guard weight.count >= 4, bytes[weight[1]] | 0x20 == UInt8(ascii: "q"), bytes[weight[2]] == UInt8(ascii: "=") else {
      return false
    }
    return weight.dropFirst(3).allSatisfy { bytes[$0] == UInt8(ascii: "0") || bytes[$0] == UInt8(ascii: ".") }
  }
}
