/// Reads DER (X.690) element by element, without copies.
struct DERReader {
  enum Tag: UInt8 {
    case integer = 0x02
    case octets = 0x04
    case identifier = 0x06
    case sequence = 0x30
    /// `[0]`, constructed: the curve of an EC key (RFC 5915).
    case parameters = 0xA0
  }

  private let bytes: UnsafeRawBufferPointer
  private var rest: Range<Int>

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.bytes = bytes
    rest = range.clamped(to: 0..<bytes.count)
  }

  func isEqual(_ range: Range<Int>, _ expected: [UInt8]) -> Bool { bytes[range].elementsEqual(expected) }

  /// Reads the next element, and returns the range of its content.
  mutating func read(_ tag: Tag) throws(PrivateKeyNumbers.Problem) -> Range<Int> {
    guard rest.count >= 2, bytes[rest.lowerBound] == tag.rawValue else { throw .malformed }
    var start = rest.lowerBound + 2
    var count = Int(bytes[rest.lowerBound + 1])
    if count >= 0x80 {
      let digits = count - 0x80
      guard (1...3).contains(digits), rest.upperBound - start >= digits else { throw .malformed }
      count = bytes[start..<(start + digits)].reduce(0) { $0 << 8 | Int($1) }
      start += digits
    }
    guard count > 0, rest.upperBound - start >= count else { throw .malformed }
    rest = (start + count)..<rest.upperBound
    return start..<(start + count)
  }

  mutating func enter(_ tag: Tag) throws(PrivateKeyNumbers.Problem) -> DERReader { DERReader(bytes, try read(tag)) }
}
