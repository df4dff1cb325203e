internal import Inflate
@_spi(SecretBytes) internal import Secrets
internal import System

/// Masks a credential's secrets in one response (T33). A mask has the length of the secret.
///
/// A stream is searched as its bytes arrive. If a match may begin at the end of a piece, the redactor buffers this end.
package final class Redactor {
  private var patterns: SecretPatterns?
  private var buffered: Buffer?
  /// An empty, wiped buffer for the next use (T60).
  private var spare: Buffer?
  private var matcher = PatternMatcher()
  /// Decodes a compressed response; `nil` if the response is searched as received.
  private var decoder: Inflater?
  /// Maximum decoded size of a compressed body, in bytes. Searching a larger body fails.
  package var mostDecoded = Inflater.maximumDecodedSize
  /// Number of matches that were masked in this response.
  package private(set) var count: UInt64 = 0
  /// Total cost of searching streams. Unit: the cost of examining one byte.
  package private(set) var steps = 0
  /// Whether this response is searched as a stream.
  private var hasStream = false

  /// Fixed cost of processing a piece of a stream, in the unit of `steps`.
  private static let stepsPerPiece = 28

  private struct Buffer: ~Copyable {
    /// The buffered bytes as received.
    var original: Secret
    var masked: Secret
    /// Number of buffered bytes that were already forwarded because the maximum delay was over.
    var released = 0
  }

  package init() {}

  /// Begins the response to a request that was just authorized.
  /// - Parameter patterns: what to search for; `nil` to make each search fail.
  package func begin(_ patterns: SecretPatterns?) {
    end()
    var earlier = patterns
    swap(&self.patterns, &earlier)
    count = 0
  }

  /// Releases the patterns and wipes the buffers.
  package func end() {
    // Without patterns, nothing is searched or buffered. Destroying in place would add a runtime check to each access.
    guard patterns.take() != nil, hasStream else { return }
    hasStream = false
    _ = buffered.take()
    _ = spare.take()
    _ = decoder.take()
    matcher.reset()
  }

  package var isBuffering: Bool {
    guard hasStream else { return false }
    return switch buffered {
    case .some(let buffered): buffered.released < buffered.original.count
    case .none: false
    }
  }

  /// Masks the secrets in a complete text. Returns `false` if it cannot be searched, and must not be forwarded.
  package func redact(_ text: inout [UInt8]) -> Bool {
    guard let patterns else { return false }
    var matcher = PatternMatcher()
    let matches = text.withUnsafeBytes { patterns.matches(in: $0, isWhole: true, &matcher) }
    for match in matches { text.mask(match) }
    count &+= UInt64(matches.count)
    return true
  }

  /// Processes the next piece of a stream. Returns the range of the piece to forward unchanged after `changed`; `nil`
  /// if the piece cannot be searched or decoded.
  /// - Parameter changed: receives the bytes to forward first.
  package func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>? {
    hasStream = true
    if let decoder { return redact(piece, decodedBy: decoder, changed: &changed) }
    return piece.withUnsafeBytes { search($0, changed: &changed) }
  }

  private func search(_ piece: UnsafeRawBufferPointer, changed: inout [UInt8]) -> Range<Int>? {
    guard let patterns else { return nil }
    let stepsBefore = matcher.steps
    defer { steps &+= matcher.steps &- stepsBefore &+ Self.stepsPerPiece }
    do throws(SystemError) {
      guard let buffered = buffered.take() else { return try pass(piece, patterns, maskedUpTo: 0, changed: &changed) }
      return try append(piece, to: buffered, patterns, changed: &changed)
    } catch {
      return nil
    }
  }

  /// Appends the buffered bytes to `changed`, to forward them after the maximum delay. The search continues as if they
  /// were still buffered.
  package func release(to changed: inout [UInt8]) {
    // Masks a partial match that is too long to be accidental.
    guard let patterns, var buffered = buffered.take() else { return }
    let rest = buffered.released..<buffered.original.count
    if !rest.isEmpty {
      if let start = patterns.partialMatchStart(matcher, onlySignificant: true) {
        buffered.masked.fill(max(buffered.released, start)..<rest.upperBound, with: Secret.mask)
        count &+= 1
      }
      buffered.masked.withBytes { changed.append(contentsOf: $0[rest]) }
      buffered.released = rest.upperBound
    }
    self.buffered = consume buffered
  }

  // MARK: processing a piece

  /// Searches a piece when no earlier bytes are buffered.
  /// - Parameter known: number of bytes at the start that belong to a match from an earlier piece.
  private func pass(
    _ piece: UnsafeRawBufferPointer, _ patterns: SecretPatterns, maskedUpTo known: Int, changed: inout [UInt8]
  ) throws(SystemError) -> Range<Int> {
    let matches = patterns.matches(in: piece, &matcher)
    let end = patterns.partialMatchStart(matcher) ?? piece.count
    matcher.discardPrefix(end)
    if matches.isEmpty, known == 0 {
      let open = UnsafeRawBufferPointer(rebasing: piece[end...])
      try buffer(open, masked: open)
      return 0..<end
    }
    count &+= UInt64(matches.count)
    let start = changed.count
    changed.append(contentsOf: piece)
    changed.mask(start..<(start + known))
    for match in matches { changed.mask((start + match.lowerBound)..<(start + match.upperBound)) }
    try changed.span.withUnsafeBytes { (changed) throws(SystemError) in
      try buffer(
        UnsafeRawBufferPointer(rebasing: piece[end...]),
        masked: UnsafeRawBufferPointer(rebasing: changed[(start + end)...]))
    }
    changed.mask((start + end)..<changed.count)
    changed.removeLast(piece.count - end)
    return end..<end
  }

  private func append(
    _ piece: UnsafeRawBufferPointer, to buffered: consuming Buffer, _ patterns: SecretPatterns, changed: inout [UInt8]
  ) throws(SystemError) -> Range<Int> {
    let border = buffered.original.count
    // A pattern that begins before the piece ends within these bytes.
    let reach = UnsafeRawBufferPointer(rebasing: piece.prefix(patterns.longest - 1))
    try buffered.original.append(reach)
    try buffered.masked.append(reach)
    let isWholePiece = reach.count == piece.count
    let matches = buffered.original.withBytes { text in
      isWholePiece
        ? patterns.matches(in: text, from: border, &matcher)
        : patterns.remainingMatches(in: text, from: border, &matcher)
    }
    for match in matches { buffered.masked.fill(match, with: Secret.mask) }
    if !isWholePiece {
      buffered.masked.withBytes { changed.append(contentsOf: $0[min(buffered.released, border)..<border]) }
      let known = matches.last.map { max(0, $0.upperBound - border) } ?? 0
      if known > 0 { count &+= 1 }
      return try pass(piece, patterns, maskedUpTo: known, changed: &changed)
    }
    count &+= UInt64(matches.count)
    let end = patterns.partialMatchStart(matcher) ?? buffered.original.count
    matcher.discardPrefix(end)
    if buffered.released < end { buffered.masked.withBytes { changed.append(contentsOf: $0[buffered.released..<end]) } }
    let released = max(0, buffered.released - end)
    let isEmpty = end >= buffered.original.count
    buffered.original.removeFirst(end)
    buffered.masked.removeFirst(end)
    buffered.released = released
    if isEmpty { spare = consume buffered } else { self.buffered = consume buffered }
    return piece.count..<piece.count
  }

  private func buffer(_ open: UnsafeRawBufferPointer, masked: UnsafeRawBufferPointer) throws(SystemError) {
    guard !open.isEmpty, let patterns else { return }
    var buffered = try makeBuffer(open.count, patterns)
    try buffered.original.append(open)
    try buffered.masked.append(masked)
    self.buffered = consume buffered
  }

  private func makeBuffer(_ count: Int, _ patterns: SecretPatterns) throws(SystemError) -> Buffer {
    switch spare.take() {
    case .some(let spare): return spare
    case .none: return Buffer(original: try patterns.makeBuffer(count), masked: try patterns.makeBuffer(count))
    }
  }

  // MARK: compressed responses

  package enum Coding: Sendable { case gzip, deflate }

  /// Starts decoding the rest of the response body, which is searched and forwarded decoded. Returns `false` if there is
  /// not enough memory.
  package func decode(_ coding: Coding) -> Bool {
    do throws(Inflater.Problem) {
      decoder = try Inflater(coding == .gzip ? .gzip : .deflate, maximumDecodedSize: mostDecoded)
      hasStream = true
      return true
    } catch {
      return false
    }
  }

  /// Whether the body has been decoded to its end; `true` if it is empty or not compressed.
  package var isWhole: Bool { decoder?.isComplete ?? true }

  private func redact(_ piece: Span<UInt8>, decodedBy decoder: Inflater, changed: inout [UInt8]) -> Range<Int>? {
    do throws(Inflater.Problem) {
      let isSearched = try decoder.decode(piece) { block in
        guard let rest = search(block, changed: &changed) else { return false }
        changed.append(contentsOf: block[rest])
        return true
      }
      return isSearched ? 0..<0 : nil
    } catch {
      return nil
    }
  }
}

extension [UInt8] {
  fileprivate mutating func mask(_ range: Range<Int>) {
    for index in range { self[index] = Secret.mask }
  }
}
