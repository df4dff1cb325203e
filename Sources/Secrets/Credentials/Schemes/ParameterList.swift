internal import Glibc
@_spi(SecretBytes) internal import Secrets
internal import Primitives
internal import System

/// The encoded names and values of the parameters of a signed request (RFC 5849 section 3.4.1.3).
struct ParameterList: ~Copyable {
  private var bytes: Secret
  private var pairs: [(name: Range<Int>, value: Range<Int>)] = []
  private let arena: SecretArena

  init(in arena: SecretArena) throws(SystemError) {
    bytes = try Secret(capacity: 512, in: arena)
    self.arena = arena
  }

  /// Maximum number of parameters of a request (T60).
  static let mostParameters = 1_024

  /// Adds the parameters of a query or a form body.
  mutating func add(_ query: UnsafeRawBufferPointer) throws(SystemError) {
    for pair in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let name = try addDecoded(UnsafeRawBufferPointer(rebasing: pair[..<equals]))
      let value = try addDecoded(UnsafeRawBufferPointer(rebasing: pair[equals...].dropFirst()))
      pairs.append((name, value))
      guard pairs.count <= Self.mostParameters else {
        throw SystemError(operation: "more than \(Self.mostParameters) parameters", errno: E2BIG)
      }
    }
  }

  /// Adds one parameter. Percent-encodes `value`, but not `name`.
  mutating func add(_ name: String, _ value: UnsafeRawBufferPointer) throws(SystemError) {
    var start = bytes.count
    try bytes.append(name)
    let nameRange = start..<bytes.count
    start = bytes.count
    try bytes.append(escaped: value)
    pairs.append((nameRange, start..<bytes.count))
  }

  /// Decodes the text and encodes it again, so that different encodings of the same text have the same signature.
  private mutating func addDecoded(_ text: UnsafeRawBufferPointer) throws(SystemError) -> Range<Int> {
    let start = bytes.count
    var index = 0
    while index < text.count {
      var byte = text[index]
      index += 1
      if byte == UInt8(ascii: "+") {
        byte = 0x20
      } else if byte == UInt8(ascii: "%"), index + 1 < text.count, let high = ASCII.hexValue(text[index]),
        let low = ASCII.hexValue(text[index + 1])
      {
        byte = high << 4 | low
        index += 2
      }
      try bytes.append(escaped: byte)
    }
    return start..<bytes.count
  }

  /// Lends the parameters, sorted and joined with `&` (RFC 5849 section 3.4.1.3.2), for the duration of the call.
  borrowing func withNormalised<Result>(
    _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    var joined = try Secret(capacity: bytes.count + 2 * pairs.count, in: arena)
    try bytes.withBytes { (bytes) throws(SystemError) in
      let sorted = pairs.sorted { first, second in
        let byName = Self.compare(bytes, first.name, second.name)
        return byName == 0 ? Self.compare(bytes, first.value, second.value) < 0 : byName < 0
      }
      for (index, pair) in sorted.enumerated() {
        if index > 0 { try joined.append(UInt8(ascii: "&")) }
        try joined.append(UnsafeRawBufferPointer(rebasing: bytes[pair.name]))
        try joined.append(UInt8(ascii: "="))
        try joined.append(UnsafeRawBufferPointer(rebasing: bytes[pair.value]))
      }
    }
    return try joined.withBytes(body)
  }

  private static func compare(_ bytes: UnsafeRawBufferPointer, _ first: Range<Int>, _ second: Range<Int>) -> Int {
    guard let start = bytes.baseAddress else { return 0 }
    let order = memcmp(start + first.lowerBound, start + second.lowerBound, min(first.count, second.count))
    return order == 0 ? first.count - second.count : Int(order)
  }
}
