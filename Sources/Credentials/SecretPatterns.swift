internal import Glibc
internal import System

/// What to look for in answers (T33): every form of every value of one credential, as it was when a request was authorised.
///
/// A text is not read byte by byte. Every `stride`-th place is sampled: no pattern fits between two samples, so one that is
/// there shows at least one of its own. What the samples are compared with tells nearly as much as the secret itself, and is
/// kept as it is.
package final class SecretPatterns {
  private let arena: SecretArena
  private let patterns: SecretList
  /// A byte for each sample, a bit for each sample, a bit for each first byte: see `Filter`.
  private let filter: Secret
  private let stride: Int
  /// Bytes; 0: there is nothing to look for.
  let longest: Int
  /// Some value is too short to be looked for.
  package let isIncomplete: Bool

  /// A sample is as long as a word that can be compared at once.
  private static let sampleSize = 4
  /// A longer step would save little: every cache line has been touched by then.
  private static let longestStride = 32

  /// - Parameter values: as they were read.
  init(of values: borrowing SecretList, in arena: SecretArena) throws(SystemError) {
    var patterns = try SecretList(in: arena)
    let ranges = values.ranges
    try values.withBytes { (bytes) throws(SystemError) in
      for range in ranges {
        try SecretForms(value: UnsafeRawBufferPointer(rebasing: bytes[range])).add(to: &patterns)
      }
    }
    isIncomplete = ranges.contains { $0.count < SecretForms.shortestValue }
    let shortest = patterns.ranges.map(\.count).min() ?? 0
    longest = patterns.ranges.map(\.count).max() ?? 0
    stride = min(max(1, shortest - Self.sampleSize + 1), Self.longestStride)
    filter = try Filter.made(of: patterns, stride: stride, in: arena)
    self.patterns = patterns
    self.arena = arena
  }

  /// Where parts of them may be kept.
  func room(_ count: Int) throws(SystemError) -> Secret { try Secret(capacity: count, in: arena) }

  // MARK: searching

  /// Where the patterns stand in a text: sorted, and apart from each other.
  func places(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var places: [Range<Int>] = []
    guard longest > 0, let start = text.baseAddress else { return places }
    filter.withBytes { filter in
      guard let filter = Filter(filter) else { return }
      let stride = stride
      var position = stride &- 1
      let last = text.count &- Self.sampleSize
      while position <= last {
        let fourth = position &+ 3 &* stride
        // Four at once, which do not wait for each other: nearly all of the time is spent here.
        if fourth <= last,
          filter.flags(start, position) | filter.flags(start, position &+ stride)
            | filter.flags(start, position &+ 2 &* stride) | filter.flags(start, fourth) == 0
        {
          position = fourth &+ stride
          continue
        }
        let end = min(fourth, last)
        while position <= end {
          let sample = start.loadUnaligned(fromByteOffset: position, as: UInt32.self)
          if filter.mayHave(sample) { compare(sample, at: position, in: text, &places) }
          position &+= stride
        }
      }
    }
    return places
  }

  /// How many of the last bytes of a text could be the beginning of a pattern that goes on behind them.
  func openEnd(of text: UnsafeRawBufferPointer) -> Int {
    guard longest > 0 else { return 0 }
    return filter.withBytes { filter in
      guard let filter = Filter(filter) else { return 0 }
      var start = max(0, text.count &- (longest &- 1))
      while start < text.count {
        // What begins before the next sample shows it, too.
        let next = start &+ stride
        if next &- 1 &+ Self.sampleSize > text.count
          || filter.mayHave(text.loadUnaligned(fromByteOffset: next &- 1, as: UInt32.self))
        {
          for start in start..<min(next, text.count) {
            if mayBegin(text, at: start, filter), begins(text, at: start) { return text.count &- start }
          }
        }
        start = next
      }
      return 0
    }
  }

  private func mayBegin(_ text: UnsafeRawBufferPointer, at start: Int, _ filter: Filter) -> Bool {
    guard filter.mayBegin(with: text[start]) else { return false }
    guard start &+ Self.sampleSize <= text.count else { return true }
    return filter.mayHave(text.loadUnaligned(fromByteOffset: start, as: UInt32.self))
  }

  private func begins(_ text: UnsafeRawBufferPointer, at start: Int) -> Bool {
    let count = text.count &- start
    return patterns.withBytes { bytes in
      patterns.ranges.contains { range in
        range.count > count && isSame(text, start, bytes, range.lowerBound, count: count)
      }
    }
  }

  /// Every pattern that has this sample here, and all of whose other bytes are there too.
  private func compare(
    _ sample: UInt32, at position: Int, in text: UnsafeRawBufferPointer, _ places: inout [Range<Int>]
  ) {
    patterns.withBytes { bytes in
      for range in patterns.ranges {
        for offset in 0..<min(stride, position &+ 1)
        where bytes.loadUnaligned(fromByteOffset: range.lowerBound &+ offset, as: UInt32.self) == sample {
          let start = position &- offset
          guard range.count <= text.count &- start,
            isSame(text, start, bytes, range.lowerBound, count: range.count)
          else { continue }
          Self.add(start..<(start &+ range.count), to: &places)
        }
      }
    }
  }

  private func isSame(
    _ text: UnsafeRawBufferPointer, _ start: Int, _ bytes: UnsafeRawBufferPointer, _ other: Int, count: Int
  ) -> Bool {
    guard let text = text.baseAddress, let bytes = bytes.baseAddress else { return false }
    return memcmp(text + start, bytes + other, count) == 0
  }

  /// Those of one sample have it in common, and those of later samples begin behind it: only the last can overlap.
  private static func add(_ place: Range<Int>, to places: inout [Range<Int>]) {
    guard let last = places.last, place.lowerBound <= last.upperBound else { return places.append(place) }
    let start = min(last.lowerBound, place.lowerBound)
    places[places.count - 1] = start..<max(last.upperBound, place.upperBound)
  }
}
