import Primitives

/// The ways in which an upstream might read a canonical path. Servers decode different escapes, may treat `%5C` or `//`
/// as `/`, and may remove `;params`.
enum PathReading {
  /// Returns the readings of a canonical path without the path itself. Throws if a reading has a dot segment, or if
  /// there are too many readings.
  static func others(of path: [UInt8]) throws(PolicyRefusal) -> [[UInt8]] {
    var readings = DistinctReadings(of: path)
    try addOthers(to: &readings)
    return Array(readings.paths.dropFirst())
  }

  /// Returns the given paths and all their readings, without duplicates.
  static func all(of paths: [[UInt8]]) throws(PolicyRefusal) -> [[UInt8]] {
    var readings = DistinctReadings()
    for path in paths { try readings.insert(path) }
    try addOthers(to: &readings)
    return readings.paths
  }

  private static func addOthers(to readings: inout DistinctReadings) throws(PolicyRefusal) {
    try addVariants(to: &readings)
    var isDecoded = false
    for reading in readings.paths where reading.contains(UInt8(ascii: "%")) {
      isDecoded = true
      let slashed = decodeBackslashes(reading)
      for text in slashed == reading ? [reading] : [slashed, reading] {
        for step in [decodeSlashes, decodeOnce, decodeToEscapes] { try readings.insert(step(text)) }
      }
      try readings.insert(slashed)
    }
    if isDecoded { try addVariants(to: &readings) }
    for reading in readings.paths.dropFirst() where hasDotSegment(reading) { throw .dotSegment }
  }

  /// Adds the readings of servers that cut parameters or collapse slashes.
  private static func addVariants(to readings: inout DistinctReadings) throws(PolicyRefusal) {
    var next = 0
    while next < readings.paths.count {
      let reading = readings.paths[next]
      next += 1
      if reading.contains(UInt8(ascii: ";")) {
        try readings.insert(cutParameters(reading))
        try readings.insert(cutLastParameters(reading))
      }
      try readings.insert(collapseSlashes(reading))
    }
  }

  /// Whether any server could find a segment `.` or `..`.
  static func hasDotSegment(_ path: [UInt8]) -> Bool {
    // A segment ends at `/`, `\`, `;`, or an escape of these.
    let path = path.span
    var dots = 0
    let isNoDots = 3
    var index = 0
    while index < path.count {
      let escaped = EscapedByte.at(index, in: path)
      switch escaped ?? path[index] {
      case UInt8(ascii: "/"), UInt8(ascii: "\\"):
        if dots == 1 || dots == 2 { return true }
        dots = 0
      case UInt8(ascii: ";"):
        if dots == 1 || dots == 2 { return true }
        dots = isNoDots
      case UInt8(ascii: "."): dots += 1
      default: dots = isNoDots
      }
      index += escaped == nil ? 1 : 3
    }
    return dots == 1 || dots == 2
  }

  /// Replaces `%2F` by `/`.
  private static func decodeSlashes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      EscapedByte.write(byte, to: &path, unless: byte == UInt8(ascii: "/"))
      return 0
    }
  }

  /// Replaces `%5C` by `/`.
  private static func decodeBackslashes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      if byte == UInt8(ascii: "\\") { path.append(UInt8(ascii: "/")) } else { EscapedByte.write(byte, to: &path) }
      return 0
    }
  }

  /// Decodes the escapes of slashes and of characters that may be plain in a path.
  private static func decodeOnce(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      EscapedByte.write(byte, to: &path, unless: byte == UInt8(ascii: "/") || ByteClass.isReservedPathCharacter(byte))
      return 0
    }
  }

  /// Like `decodeOnce`, but also decodes `%25` before two hexadecimal digits: `%2561` becomes `a`.
  private static func decodeToEscapes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, rest, path in
      guard byte == UInt8(ascii: "%"), rest.count >= 2, let high = ASCII.hexValue(rest[0]),
        let low = ASCII.hexValue(rest[1])
      else {
        let isPlain = byte == UInt8(ascii: "/") || ByteClass.isReservedPathCharacter(byte)
        EscapedByte.write(byte, to: &path, unless: isPlain)
        return 0
      }
      let inner = high << 4 | low
      EscapedByte.write(inner, to: &path, unless: ByteClass.isUnreserved(inner))
      return 2
    }
  }

  /// Copies `text`, and calls `escape` for each percent-escape, which returns how many of the following bytes it
  /// consumed.
  private static func decode(
    _ text: [UInt8], escape: (UInt8, _ rest: Span<UInt8>, _ path: inout [UInt8]) -> Int
  ) -> [UInt8] {
    var path: [UInt8] = []
    path.reserveCapacity(text.count)
    let text = text.span
    var index = 0
    while index < text.count {
      if let byte = EscapedByte.at(index, in: text) {
        index += 3
        index += escape(byte, text.extracting(index...), &path)
      } else {
        path.append(text[index])
        index += 1
      }
    }
    return path
  }

  /// Removes the parameters of every segment: `/a;x=1/b;y` → `/a/b` (RFC 3986 §3.3).
  private static func cutParameters(_ path: [UInt8]) -> [UInt8] {
    var isParameter = false
    return path.filter { byte in
      if byte == UInt8(ascii: "/") { isParameter = false }
      if byte == UInt8(ascii: ";") { isParameter = true }
      return !isParameter
    }
  }

  /// Removes the parameters of the last segment: `/a;x=1/b;y` → `/a;x=1/b` (RFC 2396, and Python's `urlparse`).
  private static func cutLastParameters(_ path: [UInt8]) -> [UInt8] {
    let start = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    let end = path[start...].firstIndex(of: UInt8(ascii: ";")) ?? path.endIndex
    return Array(path[..<end])
  }

  private static func collapseSlashes(_ path: [UInt8]) -> [UInt8] {
    var previous: UInt8 = 0
    return path.filter { byte in
      defer { previous = byte }
      return byte != UInt8(ascii: "/") || previous != UInt8(ascii: "/")
    }
  }
}

/// A set of readings that throws `ambiguousPath` if it becomes too large (T60).
private struct DistinctReadings {
  private(set) var paths: [[UInt8]] = []
  private var hashes: [UInt64] = []
  private var byteCount = 0

  private static let most = 64
  /// Maximum total length of all readings in bytes.
  private static let mostBytes = 16_384

  init() {}

  /// Creates a set with the original path.
  init(of path: [UInt8]) {
    paths = [path]
    hashes = [Self.hash(path)]
  }

  mutating func insert(_ reading: [UInt8]) throws(PolicyRefusal) {
    let hash = Self.hash(reading)
    for index in paths.indices where hashes[index] == hash && paths[index] == reading { return }
    byteCount += reading.count
    guard paths.count < Self.most, byteCount <= Self.mostBytes else { throw .ambiguousPath }
    paths.append(reading)
    hashes.append(hash)
  }

  private static func hash(_ path: [UInt8]) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in path { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return hash
  }
}
