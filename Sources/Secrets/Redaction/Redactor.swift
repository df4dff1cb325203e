internal import Inflate
@_spi(SecretBytes) internal import Secrets
internal import System

/// Masks a credential's secrets in one answer (T33). The mask is as long as what it hides: lengths, chunks, ranges and frames
/// stay as they are.
///
/// A piece of a stream goes on as it is unless something was found in it. Held back is only an end that could be the
/// beginning of a pattern, so less than the longest pattern; no pattern has a line break in it.
package final class Redactor {
  private var patterns: SecretPatterns?
  private var held: Held?
  /// Empty, and wiped: room for what is held back next. To find some for every piece would cost more than to search it (T60).
  private var spare: Held?
  /// Knows of what is held back which patterns began there.
  private var matcher = PatternMatcher()
  /// Decodes an answer whose content is compressed; nil: it is searched as it comes.
  private(set) var decoder: Inflater?
  /// Bytes that a compressed body may decode to.
  package var mostDecoded = Inflater.mostDecoded
  /// Places that were masked.
  package var count: UInt64 { masked }
  /// The cost of searching streams in all: bytes that were looked at alone, and `stepsPerPiece` for each piece.
  package var steps: Int { spentSteps }
  private var spentSteps = 0
  /// A stream has been searched, or is to be decoded: what is below may be in use. Most answers only have heads.
  private var hasStream = false
  // Visible here alone, so that the compiler can prove each access to it alone.
  private var masked: UInt64 = 0

  /// A piece of one byte takes about as long as so many bytes of a longer one.
  private static let stepsPerPiece = 28

  private struct Held: ~Copyable {
    /// As it came, and as it goes on: it may lie within a place that is masked already.
    var original: Secret
    var shown: Secret
    /// How much of it has gone on, because its time was up.
    var released = 0
  }

  package init() {}

  /// For the answer to a request that is authorised now. nil: there is nothing to look for it with, so that nothing passes.
  package func begin(_ patterns: SecretPatterns?) {
    end()
    var earlier = patterns
    swap(&self.patterns, &earlier)
    masked = 0
  }

  func begin(decoding inflater: Inflater) {
    hasStream = true
    decoder = inflater
  }

  /// Forgets the secrets.
  package func end() {
    // Nothing is searched, or held, without them. What is destroyed where it stands would have each access to it checked.
    guard patterns.take() != nil, hasStream else { return }
    hasStream = false
    _ = held.take()
    _ = spare.take()
    _ = decoder.take()
    matcher.reset()
  }

  package var isHolding: Bool {
    guard hasStream else { return false }
    return switch held {
    case .some(let held): held.released < held.original.count
    case .none: false
    }
  }

  /// Masks what stands in a text that is whole.
  /// - Returns: false if it cannot be searched; it must not go on.
  package func redact(_ text: inout [UInt8]) -> Bool {
    guard let patterns else { return false }
    var matcher = PatternMatcher()
    let places = text.withUnsafeBytes { patterns.places(in: $0, isWhole: true, &matcher) }
    for place in places { text.mask(place) }
    masked &+= UInt64(places.count)
    return true
  }

  /// Takes the next piece of a stream.
  /// - Parameter changed: gets what goes on first and is not as it came: what was held back before, or has masks in it.
  /// - Returns: the bytes of the piece that go on as they are, behind that; nil if it cannot be searched, or decoded.
  package func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>? {
    hasStream = true
    if let decoder { return redact(piece, decodedBy: decoder, changed: &changed) }
    return piece.withUnsafeBytes { search($0, changed: &changed) }
  }

  func search(_ piece: UnsafeRawBufferPointer, changed: inout [UInt8]) -> Range<Int>? {
    guard let patterns else { return nil }
    let stepsBefore = matcher.steps
    defer { spentSteps &+= matcher.steps &- stepsBefore &+ Self.stepsPerPiece }
    do throws(SystemError) {
      guard let held = held.take() else { return try pass(piece, patterns, maskedUpTo: 0, changed: &changed) }
      return try join(held, piece, patterns, changed: &changed)
    } catch {
      return nil
    }
  }

  /// Lets pending bytes go: their time is up. Where so much of a pattern stands that it is no accident, it is masked. What
  /// follows is still looked at as if it stood behind it.
  package func release(to changed: inout [UInt8]) {
    guard let patterns, var held = held.take() else { return }
    let rest = held.released..<held.original.count
    if !rest.isEmpty {
      if let start = patterns.openStart(matcher, isMost: true) {
        held.shown.fill(max(held.released, start)..<rest.upperBound, with: Secret.mask)
        masked &+= 1
      }
      held.shown.withBytes { changed.append(contentsOf: $0[rest]) }
      held.released = rest.upperBound
    }
    self.held = consume held
  }

  // MARK: one piece

  /// A piece that stands for itself. Its first bytes may belong to a place that began before it.
  private func pass(
    _ piece: UnsafeRawBufferPointer, _ patterns: SecretPatterns, maskedUpTo known: Int, changed: inout [UInt8]
  ) throws(SystemError) -> Range<Int> {
    let places = patterns.places(in: piece, &matcher)
    let end = patterns.openStart(matcher) ?? piece.count
    matcher.forget(end)
    if places.isEmpty, known == 0 {
      let open = UnsafeRawBufferPointer(rebasing: piece[end...])
      try hold(open, shown: open)
      return 0..<end
    }
    masked &+= UInt64(places.count)
    let start = changed.count
    changed.append(contentsOf: piece)
    changed.mask(start..<(start + known))
    for place in places { changed.mask((start + place.lowerBound)..<(start + place.upperBound)) }
    try changed.span.withUnsafeBytes { (changed) throws(SystemError) in
      try hold(
        UnsafeRawBufferPointer(rebasing: piece[end...]),
        shown: UnsafeRawBufferPointer(rebasing: changed[(start + end)...]))
    }
    changed.mask((start + end)..<changed.count)
    changed.removeLast(piece.count - end)
    return end..<end
  }

  /// A piece behind what is held back.
  private func join(
    _ held: consuming Held, _ piece: UnsafeRawBufferPointer, _ patterns: SecretPatterns, changed: inout [UInt8]
  ) throws(SystemError) -> Range<Int> {
    let border = held.original.count
    // As far as a pattern can reach that begins before the piece.
    let reach = UnsafeRawBufferPointer(rebasing: piece.prefix(patterns.longest - 1))
    try held.original.append(reach)
    try held.shown.append(reach)
    let isAll = reach.count == piece.count
    let places = held.original.withBytes { text in
      isAll
        ? patterns.places(in: text, from: border, &matcher) : patterns.remainingPlaces(in: text, from: border, &matcher)
    }
    for place in places { held.shown.fill(place, with: Secret.mask) }
    if !isAll {
      held.shown.withBytes { changed.append(contentsOf: $0[min(held.released, border)..<border]) }
      let known = places.last.map { max(0, $0.upperBound - border) } ?? 0
      if known > 0 { masked &+= 1 }
      return try pass(piece, patterns, maskedUpTo: known, changed: &changed)
    }
    masked &+= UInt64(places.count)
    let end = patterns.openStart(matcher) ?? held.original.count
    matcher.forget(end)
    if held.released < end { held.shown.withBytes { changed.append(contentsOf: $0[held.released..<end]) } }
    let released = max(0, held.released - end)
    let isOver = end >= held.original.count
    held.original.removeFirst(end)
    held.shown.removeFirst(end)
    held.released = released
    if isOver { spare = consume held } else { self.held = consume held }
    return piece.count..<piece.count
  }

  private func hold(_ open: UnsafeRawBufferPointer, shown: UnsafeRawBufferPointer) throws(SystemError) {
    guard !open.isEmpty, let patterns else { return }
    var held = try room(open.count, patterns)
    try held.original.append(open)
    try held.shown.append(shown)
    self.held = consume held
  }

  private func room(_ count: Int, _ patterns: SecretPatterns) throws(SystemError) -> Held {
    switch spare.take() {
    case .some(let spare): return spare
    case .none: return Held(original: try patterns.room(count), shown: try patterns.room(count))
    }
  }
}

extension [UInt8] {
  fileprivate mutating func mask(_ range: Range<Int>) {
    for index in range { self[index] = Secret.mask }
  }
}
