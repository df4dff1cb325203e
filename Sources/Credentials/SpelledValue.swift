/// A value as it stands in texts that escape: letters and digits as they are, as every standard encoder leaves them, each
/// other byte as it is or in any of the ways of `Escape`. Encoders differ in what they escape, and in nothing else.
struct SpelledValue {
  let value: UnsafeRawBufferPointer

  init(_ value: UnsafeRawBufferPointer) {
    self.value = value
  }

  /// The longest way to write it, or more.
  var longest: Int {
    value.reduce(0) { $0 + (Self.isNeverEscaped($1) ? 1 : Escape.longest) }
  }

  /// Of the text, where it begins with all of the value; 0: it does not.
  func length(in text: UnsafeRawBufferPointer, at start: Int) -> Int {
    var longest = 0
    forEachMatch(in: text, at: start) { match in
      if case .whole(let end) = match { longest = max(longest, end - start) }
    }
    return longest
  }

  /// Whether the text ends within the value, as it begins here.
  /// - Parameter isMost: and has so much of it as is no accident.
  func begins(in text: UnsafeRawBufferPointer, at start: Int, isMost: Bool) -> Bool {
    var begins = false
    forEachMatch(in: text, at: start) { match in
      if case .begun(let count) = match, !isMost || SecretForms.isMost(count, of: value.count) { begins = true }
    }
    return begins
  }

  static func isNeverEscaped(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  // MARK: -

  private enum Match {
    /// This many bytes of the value stand at the end of the text.
    case begun(Int)
    /// All of it, up to this place in the text.
    case whole(Int)
  }

  /// More than one only for a value that has an escape of its own: is the `%25` of a text three bytes of it, or one?
  private func forEachMatch(in text: UnsafeRawBufferPointer, at start: Int, _ body: (Match) -> Void) {
    var place = (position: start, index: 0)
    var others: [(position: Int, index: Int)] = []
    while true {
      if let match = follow(text, &place, &others) { body(match) }
      guard let other = others.popLast() else { return }
      place = other
    }
  }

  /// - Returns: nil if it is another text.
  private func follow(
    _ text: UnsafeRawBufferPointer, _ place: inout (position: Int, index: Int),
    _ others: inout [(position: Int, index: Int)]
  ) -> Match? {
    while place.index < value.count {
      guard place.position < text.count else { return .begun(place.index) }
      let own = value[place.index]
      let isPlain = text[place.position] == own
      let next = (place.position + 1, place.index + 1)
      if Self.isNeverEscaped(own) || (isPlain && !Escape.canBegin(with: own)) {
        guard isPlain else { return nil }
        place = next
        continue
      }
      do throws(Escape.Cut) {
        if let escape = try Escape.read(text, at: place.position), has(escape, at: place.index) {
          if isPlain { others.append(next) }
          place = (place.position + escape.length, place.index + escape.count)
          continue
        }
      } catch {
        if isPlain { others.append(next) }
        return .begun(place.index)
      }
      guard isPlain else { return nil }
      place = next
    }
    return .whole(place.position)
  }

  private func has(_ escape: Escape, at index: Int) -> Bool {
    guard escape.count <= value.count - index else { return false }
    return (0..<escape.count).allSatisfy { offset in
      value[index + offset] == UInt8(truncatingIfNeeded: escape.bytes >> UInt32(8 * offset))
    }
  }
}
