/// A hash table that maps a field name to its `KnownField`.
struct KnownNames: Sendable {
  // Each reader stores a copy of the table, because a lazily initialized global costs a call per access.
  static let all = KnownNames()

  private struct Entry: Sendable {
    var tail: UInt64 = 0
    /// The first eight bytes of a name with more than eight bytes; otherwise 0.
    var head: UInt64 = 0
    var count = 0
    var start = 0
    var field = KnownField.other
  }

  private var entries = [Entry](repeating: Entry(), count: 1 << bits)
  private var text: [UInt8] = []

  private init() {
    for field in KnownField.allCases where field != .other {
      let start = text.count
      var tail: UInt64 = 0
      for byte in field.name.utf8 {
        let folded = Grammar.foldedToken[Int(byte)]
        text.append(folded)
        tail = tail << 8 | UInt64(folded)
      }
      var slot = Self.slot(tail)
      while entries[slot].count != 0 { slot = (slot &+ 1) & Self.mask }
      let head = text.count - start > 8 ? Scanning.load(text.span, at: start) : 0
      entries[slot] = Entry(tail: tail, head: head, count: text.count - start, start: start, field: field)
    }
  }

  /// Returns the known field with this name, or `other`. `tail` has the name's last eight bytes.
  @inline(__always)
  func field(_ range: Range<Int>, of bytes: Span<UInt8>, tail: UInt64) -> KnownField {
    var slot = Self.slot(tail)
    while true {
      let entry = entries[slot]
      if entry.count == 0 { return .other }
      if entry.tail == tail && entry.count == range.count && startsLike(range, of: bytes, entry) { return entry.field }
      slot = (slot &+ 1) & Self.mask
    }
  }

  /// Whether the name equals the entry's name before the last eight bytes.
  @inline(__always)
  private func startsLike(_ range: Range<Int>, of bytes: Span<UInt8>, _ entry: Entry) -> Bool {
    let rest = entry.count &- 8
    guard rest > 0 else { return true }
    // Setting one bit makes known names lowercase, because they contain only letters and `-`.
    guard Scanning.load(bytes, at: range.lowerBound) | 0x2020_2020_2020_2020 == entry.head else { return false }
    var index = 8
    while index < rest {
      if Grammar.foldedToken[Int(bytes[range.lowerBound &+ index])] != text[entry.start &+ index] { return false }
      index &+= 1
    }
    return true
  }

  /// Binary logarithm of the number of slots.
  private static var bits: Int { 7 }
  private static var mask: Int { (1 << bits) &- 1 }

  @inline(__always)
  private static func slot(_ tail: UInt64) -> Int {
    Int(truncatingIfNeeded: (tail &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 &- bits))
  }
}
