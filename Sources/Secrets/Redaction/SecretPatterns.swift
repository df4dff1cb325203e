@_spi(SecretBytes) package import Secrets
package import System

/// The patterns to look for in answers (T33): every form of every value of one credential, as it was when a request was
/// authorised.
///
/// A text is not read byte by byte. Every `stride`-th place is sampled: no pattern fits between two samples, so one that is
/// there shows at least one of its own. What the samples are compared with tells nearly as much as the secret itself, and is
/// kept as it is.
package final class SecretPatterns {
  private let arena: SecretArena
  /// Behind one another, each of `patterns` in its place.
  private let texts: Secret
  private let patterns: [SecretPattern]
  /// See `Filter`.
  private let filter: Secret
  private let stride: Int
  /// Bytes that one takes at most, and at least; 0: there is nothing to look for.
  let longest: Int
  private let shortest: Int
  /// Some value is too short to be looked for.
  package let isIncomplete: Bool

  /// A longer step would save little: every cache line has been touched by then.
  private static let longestStride = 32

  /// - Parameter read: the values.
  package init(of read: borrowing SecretList, in arena: SecretArena) throws(SystemError) {
    var values = try SecretList(in: arena)
    var forms = try SecretList(in: arena)
    var hexadecimalForms = try SecretList(in: arena)
    var longest = 0
    let ranges = read.ranges
    try read.withBytes { (bytes) throws(SystemError) in
      for range in ranges where range.count >= SecretEncodings.shortestValue {
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        try values.add { (text) throws(SystemError) in try text.append(value) }
        try SecretEncodings(value: value).addBase64(to: &forms)
        try SecretEncodings(value: value).addHexadecimal(to: &hexadecimalForms)
        longest = max(longest, value.reduce(0) { $0 + (Escape.canStand(for: $1) ? Escape.longest : 1) })
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
      try Filter.made(of: patterns, bytes, stride: stride, in: arena)
    }
    self.texts = texts
    self.patterns = patterns
    self.arena = arena
  }

  /// With more values, which go out with one request.
  package convenience init(
    _ own: SecretPatterns, and more: borrowing SecretList, in arena: SecretArena
  ) throws(SystemError) {
    var all = try SecretList(in: arena)
    try own.texts.withBytes { (bytes) throws(SystemError) in
      // Each value has one pattern that is escaped: itself.
      for pattern in own.patterns where pattern.spelling == .escaped {
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

  /// False when memory could not be locked.
  package var isLocked: Bool { arena.isLocked }

  /// Room for parts of them.
  func room(_ count: Int) throws(SystemError) -> Secret { try Secret(capacity: count, in: arena) }

  // MARK: searching

  /// The places of the patterns in a text: sorted, and apart from each other.
  /// - Parameters:
  ///   - start: what stands before it has been searched.
  ///   - isWhole: nothing follows the text, so that what begins in it has to end in it.
  ///   - matcher: knows of what began there, and afterwards of what may go on behind the text.
  func places(
    in text: UnsafeRawBufferPointer, from start: Int = 0, isWhole: Bool = false, _ matcher: inout PatternMatcher
  ) -> [Range<Int>] {
    var places: [Range<Int>] = []
    guard longest > 0 else { return places }
    filter.withBytes { filter in
      guard let filter = Filter(filter) else { return }
      texts.withBytes { bytes in
        var suspects = start..<start
        while true {
          var position = suspects.upperBound
          if !suspects.isEmpty || !matcher.isIdle {
            position = matcher.follow(
              text, suspects.lowerBound..<text.count, quiet: suspects.upperBound, patterns, bytes,
              begins: { mayBegin(text, at: $0, filter) }, found: { Self.add($0, to: &places) })
          }
          if position == text.count { return }
          suspects = nextSuspects(text, from: position, filter)
          if isWhole, matcher.isIdle, text.count &- suspects.lowerBound < shortest { return }
        }
      }
    }
    return places
  }

  /// Only those places of patterns that began before `start`.
  func remainingPlaces(
    in text: UnsafeRawBufferPointer, from start: Int, _ matcher: inout PatternMatcher
  ) -> [Range<Int>] {
    var places: [Range<Int>] = []
    texts.withBytes { bytes in
      _ = matcher.follow(
        text, start..<text.count, quiet: start, patterns, bytes, begins: { _ in false },
        found: { Self.add($0, to: &places) })
    }
    matcher.reset()
    return places
  }

  /// The place where the first pattern began that `matcher` knows of and that may go on.
  /// - Parameter isMost: only if so much of it stands there as is no accident.
  func openStart(_ matcher: PatternMatcher, isMost: Bool = false) -> Int? {
    matcher.openStart(of: patterns, isMost: isMost)
  }

  /// The next places where patterns may begin: those before a sample that some pattern has, or the last ones, with no sample
  /// behind them.
  private func nextSuspects(_ text: UnsafeRawBufferPointer, from start: Int, _ filter: Filter) -> Range<Int> {
    guard let bytes = text.baseAddress else { return start..<text.count }
    let stride = stride
    let (twice, thrice) = (2 &* stride, 3 &* stride)
    var position = start &+ stride &- 1
    let last = text.count &- Sample.loaded
    while position <= last {
      let fourth = position &+ thrice
      // Four at once, which do not wait for each other: nearly all of the time is spent here.
      if fourth <= last,
        filter.flags(bytes, position) | filter.flags(bytes, position &+ stride)
          | filter.flags(bytes, position &+ twice) | filter.flags(bytes, fourth) == 0
      {
        position = fourth &+ stride
        continue
      }
      let end = min(fourth, last)
      while position <= end {
        if filter.doubt(bytes, position) != 0 {
          return (position &- stride &+ 1)..<(position &+ 1)
        }
        position &+= stride
      }
    }
    return (position &- stride &+ 1)..<text.count
  }

  private func mayBegin(_ text: UnsafeRawBufferPointer, at start: Int, _ filter: Filter) -> Bool {
    guard filter.mayBegin(with: text[start]), let bytes = text.baseAddress else { return false }
    return start &+ Sample.loaded > text.count || filter.doubt(bytes, start) != 0
  }

  /// Adds a place, joined with those that it overlaps or touches. Places come in the order of their ends.
  private static func add(_ place: Range<Int>, to places: inout [Range<Int>]) {
    var place = place
    while let last = places.last, place.lowerBound <= last.upperBound {
      place = min(last.lowerBound, place.lowerBound)..<place.upperBound
      places.removeLast()
    }
    places.append(place)
  }
}
