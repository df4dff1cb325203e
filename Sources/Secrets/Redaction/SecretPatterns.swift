@_spi(SecretBytes) package import Secrets
package import System

// A search looks at every `stride`-th position of the text, and looks up the three bytes there (a sample) in `filter`.
// `stride` is small enough that each match contains such a sample. `filter` reveals nearly as much as the secret, so it
// is in locked memory.
/// The patterns to search for in responses (T33): every encoding of every value of one credential.
package final class SecretPatterns {
  private let arena: SecretArena
  /// The texts of all `patterns`, one after another.
  private let texts: Secret
  private let patterns: [SecretPattern]
  /// The lookup table that `Filter` reads to find the positions of a text at which a match is possible.
  private let filter: Secret
  private let stride: Int
  /// Maximum length of a match in bytes; 0 if there are no patterns.
  let longest: Int
  private let shortest: Int
  /// Whether any value is too short to be searched for.
  package let isIncomplete: Bool

  /// Maximum of `stride`.
  private static let longestStride = 32

  package init(of list: borrowing SecretList, in arena: SecretArena) throws(SystemError) {
    var values = try SecretList(in: arena)
    var forms = try SecretList(in: arena)
    var hexadecimalForms = try SecretList(in: arena)
    var longest = 0
    let ranges = list.ranges
    try list.withBytes { (bytes) throws(SystemError) in
      for range in ranges where range.count >= SecretEncodings.shortestValue {
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        try values.add { (text) throws(SystemError) in try text.append(value) }
        try SecretEncodings(value: value).addBase64(to: &forms)
        try SecretEncodings(value: value).addHexadecimal(to: &hexadecimalForms)
        longest = max(longest, value.reduce(0) { $0 + (Escape.canEncode($1) ? Escape.longest : 1) })
      }
    }
    isIncomplete = ranges.contains { $0.count < SecretEncodings.shortestValue }
    var texts = try Secret(capacity: 512, in: arena)
    var patterns: [SecretPattern] = []
    try Self.add(values, .escaped, to: &texts, &patterns)
    try Self.add(forms, .asItIs, to: &texts, &patterns)
    try Self.add(hexadecimalForms, .inAnyCase, to: &texts, &patterns)
    let counts = patterns.map(\.range.count)
    self.longest = max(longest, counts.max() ?? 0)
    shortest = counts.min() ?? 0
    let stride = min(max(1, shortest - Sample.size + 1), Self.longestStride)
    self.stride = stride
    filter = try texts.withBytes { (bytes) throws(SystemError) in
      try Filter.make(from: patterns, bytes, stride: stride, in: arena)
    }
    self.texts = texts
    self.patterns = patterns
    self.arena = arena
  }

  /// Creates the patterns for the values in `base` and for more values that one request carries.
  package convenience init(
    _ base: SecretPatterns, and more: borrowing SecretList, in arena: SecretArena
  ) throws(SystemError) {
    var all = try SecretList(in: arena)
    try base.texts.withBytes { (bytes) throws(SystemError) in
      // The patterns with the spelling `escaped` are the values themselves.
      for pattern in base.patterns where pattern.spelling == .escaped {
        try all.add { (text) throws(SystemError) in
          try text.append(UnsafeRawBufferPointer(rebasing: bytes[pattern.range]))
        }
      }
    }
    let ranges = more.ranges
    try more.withBytes { (bytes) throws(SystemError) in
      for range in ranges {
        try all.add { (text) throws(SystemError) in try text.append(UnsafeRawBufferPointer(rebasing: bytes[range])) }
      }
    }
    try self.init(of: all, in: arena)
  }

  private static func add(
    _ list: borrowing SecretList, _ spelling: SecretPattern.Spelling, to texts: inout Secret,
    _ patterns: inout [SecretPattern]
  ) throws(SystemError) {
    let start = texts.count
    try list.withBytes { (bytes) throws(SystemError) in try texts.append(bytes) }
    for range in list.ranges {
      let range = (start + range.lowerBound)..<(start + range.upperBound)
      patterns.append(SecretPattern(range: range, spelling: spelling))
    }
  }

  package var isLocked: Bool { arena.isLocked }

  func makeBuffer(_ count: Int) throws(SystemError) -> Secret { try Secret(capacity: count, in: arena) }

  // MARK: searching

  /// Returns the ranges of all matches in a text, sorted and without overlaps.
  /// - Parameters:
  ///   - start: the first byte that was not searched yet.
  ///   - isWhole: whether no text follows.
  ///   - matcher: has the partial matches before `start`, and afterwards those at the end of the text.
  func matches(
    in text: UnsafeRawBufferPointer, from start: Int = 0, isWhole: Bool = false, _ matcher: inout PatternMatcher
  ) -> [Range<Int>] {
    var matches: [Range<Int>] = []
    guard longest > 0 else { return matches }
    filter.withBytes { filter in
      guard let filter = Filter(filter) else { return }
      texts.withBytes { bytes in
        var candidates = start..<start
        while true {
          var position = candidates.upperBound
          if !candidates.isEmpty || !matcher.isIdle {
            position = matcher.advance(
              text, candidates.lowerBound..<text.count, quiet: candidates.upperBound, patterns, bytes,
              begins: { mayBegin(text, at: $0, filter) }, found: { Self.add($0, to: &matches) })
          }
          if position == text.count { return }
          candidates = nextCandidates(text, from: position, filter)
          if isWhole, matcher.isIdle, text.count &- candidates.lowerBound < shortest { return }
        }
      }
    }
    return matches
  }

  /// Finds the rest of the matches that began before `start`.
  func remainingMatches(
    in text: UnsafeRawBufferPointer, from start: Int, _ matcher: inout PatternMatcher
  ) -> [Range<Int>] {
    var matches: [Range<Int>] = []
    texts.withBytes { bytes in
      _ = matcher.advance(
        text, start..<text.count, quiet: start, patterns, bytes, begins: { _ in false },
        found: { Self.add($0, to: &matches) })
    }
    matcher.reset()
    return matches
  }

  func partialMatchStart(_ matcher: PatternMatcher, onlySignificant: Bool = false) -> Int? {
    matcher.partialMatchStart(of: patterns, onlySignificant: onlySignificant)
  }

  /// Returns the next positions at which a match may begin.
  private func nextCandidates(_ text: UnsafeRawBufferPointer, from start: Int, _ filter: Filter) -> Range<Int> {
    // The `stride` positions up to the first sample (three bytes) in `filter`; without one, the positions after the
    // last lookup.
    guard let bytes = text.baseAddress else { return start..<text.count }
    let stride = stride
    let (twice, thrice) = (2 &* stride, 3 &* stride)
    var position = start &+ stride &- 1
    let last = text.count &- Sample.loadedSize
    while position <= last {
      let fourth = position &+ thrice
      // Four independent lookups at a time: nearly all of the time is spent here.
      if fourth <= last,
        filter.flags(bytes, position) | filter.flags(bytes, position &+ stride)
          | filter.flags(bytes, position &+ twice) | filter.flags(bytes, fourth) == 0
      {
        position = fourth &+ stride
        continue
      }
      let end = min(fourth, last)
      while position <= end {
        if filter.verifiedFlags(bytes, position) != 0 {
          return (position &- stride &+ 1)..<(position &+ 1)
        }
        position &+= stride
      }
    }
    return (position &- stride &+ 1)..<text.count
  }

  private func mayBegin(_ text: UnsafeRawBufferPointer, at start: Int, _ filter: Filter) -> Bool {
    guard filter.mayBegin(with: text[start]), let bytes = text.baseAddress else { return false }
    return start &+ Sample.loadedSize > text.count || filter.verifiedFlags(bytes, start) != 0
  }

  /// Adds a match, and merges it with matches that it overlaps or touches.
  private static func add(_ match: Range<Int>, to matches: inout [Range<Int>]) {
    // Matches arrive in the order of their ends.
    var match = match
    while let last = matches.last, match.lowerBound <= last.upperBound {
      match = min(last.lowerBound, match.lowerBound)..<match.upperBound
      matches.removeLast()
    }
    matches.append(match)
  }
}
