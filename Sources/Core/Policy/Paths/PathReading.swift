import Primitives

/// The ways in which an upstream might read a canonical path. Servers differ in what they decode, in whether they cut
/// `;params`, of all segments or of the last, in whether `//` is `/`, whether `%5C` is `/`, and in the order of all that; every
/// combination is a reading. Of those who decode twice only the first step is one (`%252F` as `%2F`, `%2561` as `a`), and a `?`
/// out of `%3F` ends no path.
enum PathReading {
  /// All readings of a canonical path that differ from it and from each other: for most paths none.
  static func others(of path: [UInt8]) throws(PolicyRefusal) -> [[UInt8]] {
    var readings = DistinctReadings(of: path)
    try addOthers(to: &readings)
    return Array(readings.paths.dropFirst())
  }

  /// Several paths with all their readings, each once.
  static func all(of paths: [[UInt8]]) throws(PolicyRefusal) -> [[UInt8]] {
    var readings = DistinctReadings()
    for path in paths { try readings.note(path) }
    try addOthers(to: &readings)
    return readings.paths
  }

  private static func addOthers(to readings: inout DistinctReadings) throws(PolicyRefusal) {
    try close(&readings)
    var isDecoded = false
    for reading in readings.paths where reading.contains(UInt8(ascii: "%")) {
      isDecoded = true
      let slashed = decodeBackslashes(reading)
      for text in slashed == reading ? [reading] : [slashed, reading] {
        for step in [decodeSlashes, decodeOnce, decodeToEscapes] { try readings.note(step(text)) }
      }
      try readings.note(slashed)
    }
    if isDecoded { try close(&readings) }
    for reading in readings.paths.dropFirst() where hasDotSegment(reading) { throw .dotSegment }
  }

  /// Adds what becomes of the readings by steps that may be taken at any time.
  private static func close(_ readings: inout DistinctReadings) throws(PolicyRefusal) {
    var next = 0
    while next < readings.paths.count {
      let reading = readings.paths[next]
      next += 1
      if reading.contains(UInt8(ascii: ";")) {
        try readings.note(cutParameters(reading))
        try readings.note(cutLastParameters(reading))
      }
      try readings.note(collapseSlashes(reading))
    }
  }

  /// Whether a segment is `.` or `..` in any way to find segments: `%2F` and `%5C` count as separators and `;` or `%3B` as an end.
  static func hasDotSegment(_ path: [UInt8]) -> Bool {
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

  /// `%2F` is a separator.
  private static func decodeSlashes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      if byte == UInt8(ascii: "/") { path.append(byte) } else { EscapedByte.write(byte, to: &path) }
      return 0
    }
  }

  /// `%5C` is a separator.
  private static func decodeBackslashes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      if byte == UInt8(ascii: "\\") { path.append(UInt8(ascii: "/")) } else { EscapedByte.write(byte, to: &path) }
      return 0
    }
  }

  /// Every escape decoded once. Bytes that cannot stand plain in a path stay escaped: that is how they are written here,
  /// so that `%20` is the same character in every reading, and so is `%25`, a percent sign that begins no escape.
  private static func decodeOnce(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, _, path in
      if byte == UInt8(ascii: "/") || ByteClass.isReservedPathCharacter(byte) {
        path.append(byte)
      } else {
        EscapedByte.write(byte, to: &path)
      }
      return 0
    }
  }

  /// Decodes all escapes but that `%25` before two digits begins an escape, which is canonicalised in its turn.
  private static func decodeToEscapes(_ text: [UInt8]) -> [UInt8] {
    decode(text) { byte, rest, path in
      if byte == UInt8(ascii: "/") || ByteClass.isReservedPathCharacter(byte) {
        path.append(byte)
        return 0
      }
      guard byte == UInt8(ascii: "%"), rest.count >= 2, let high = ASCII.hexValue(rest[0]),
        let low = ASCII.hexValue(rest[1])
      else {
        EscapedByte.write(byte, to: &path)
        return 0
      }
      let inner = high << 4 | low
      if ByteClass.isUnreserved(inner) { path.append(inner) } else { EscapedByte.write(inner, to: &path) }
      return 2
    }
  }

  /// Copies `text`; `escape` gets each escaped byte with what follows it, and says how much of that it took.
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

  /// `/a;x=1/b;y` → `/a/b` (RFC 3986 §3.3).
  private static func cutParameters(_ path: [UInt8]) -> [UInt8] {
    var isParameter = false
    return path.filter { byte in
      if byte == UInt8(ascii: "/") { isParameter = false }
      if byte == UInt8(ascii: ";") { isParameter = true }
      return !isParameter
    }
  }

  /// `/a;x=1/b;y` → `/a;x=1/b` (RFC 2396, and Python's `urlparse`).
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

/// Readings that differ from each other. There is a bound on how many they are and on how long they are together, as each of
/// them is read in further ways, and compared with all rules (T60).
private struct DistinctReadings {
  private(set) var paths: [[UInt8]] = []
  /// Hashes of the paths: two that are alike but for their ends are told apart at once.
  private var hashes: [UInt64] = []
  /// Bytes of all but the path that came.
  private var byteCount = 0

  /// No honest path comes near.
  private static let most = 64
  /// As long as a target is by default: only short paths have many readings.
  private static let mostBytes = 16_384

  init() {}

  /// - Parameter path: the one that came, which is not counted.
  init(of path: [UInt8]) {
    paths = [path]
    hashes = [Self.hash(path)]
  }

  mutating func note(_ reading: [UInt8]) throws(PolicyRefusal) {
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
