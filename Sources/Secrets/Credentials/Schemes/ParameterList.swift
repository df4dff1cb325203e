internal import Glibc
@_spi(SecretBytes) internal import Secrets
internal import System

/// The parameters of a request that is signed (RFC 5849 section 3.4.1.3), encoded, each name with its value.
struct ParameterList: ~Copyable {
  private var bytes: Secret
  private var pairs: [(name: Range<Int>, value: Range<Int>)] = []
  private let arena: SecretArena

  init(in arena: SecretArena) throws(SystemError) {
    bytes = try Secret(capacity: 512, in: arena)
    self.arena = arena
  }

  /// More than servers take: frameworks stop at a thousand. Each is compared with some of the others (T60).
  static let mostParameters = 1_024

  /// Adds the parameters of a query, or of a body of the same form (W3C.REC-html40-19980424 section 17.13.4).
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

  /// One as it is.
  mutating func add(_ name: String, _ value: UnsafeRawBufferPointer) throws(SystemError) {
    var start = bytes.count
    try bytes.append(name)
    let nameRange = start..<bytes.count
    start = bytes.count
    try bytes.append(escaped: value)
    pairs.append((nameRange, start..<bytes.count))
  }

  /// Without its own encoding, whatever that was, and with ours: two spellings of a text sign alike.
  private mutating func addDecoded(_ text: UnsafeRawBufferPointer) throws(SystemError) -> Range<Int> {
    let start = bytes.count
    var index = 0
    while index < text.count {
      var byte = text[index]
      index += 1
      if byte == UInt8(ascii: "+") {
        byte = 0x20
      } else if byte == UInt8(ascii: "%"), index + 1 < text.count, let high = digit(text[index]),
        let low = digit(text[index + 1])
      {
        byte = high << 4 | low
        index += 2
      }
      try bytes.append(escaped: byte)
    }
    return start..<bytes.count
  }

  private func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Sorted by names, then by values, and joined (section 3.4.1.3.2). Borrowed for the call.
  borrowing func withNormalised<Result>(
    _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    var joined = try Secret(capacity: bytes.count + 2 * pairs.count, in: arena)
    try bytes.withBytes { (bytes) throws(SystemError) in
      let sorted = pairs.sorted { one, other in
        let byName = Self.compare(bytes, one.name, other.name)
        return byName == 0 ? Self.compare(bytes, one.value, other.value) < 0 : byName < 0
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

  /// Below 0: the first comes first.
  private static func compare(_ bytes: UnsafeRawBufferPointer, _ one: Range<Int>, _ other: Range<Int>) -> Int {
    guard let start = bytes.baseAddress else { return 0 }
    let order = memcmp(start + one.lowerBound, start + other.lowerBound, min(one.count, other.count))
    return order == 0 ? one.count - other.count : Int(order)
  }
}
