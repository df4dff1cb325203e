internal import Glibc
internal import System

/// What to look for in answers (T33): every form of every value of one credential, as it was when a request was authorised.
///
/// A text is not read byte by byte. Every `stride`-th place is sampled: no pattern fits between two samples, so one that is
/// there shows at least one of its own. What the samples are compared with tells nearly as much as the secret itself, and is
/// kept as it is.
package final class SecretPatterns {
  private let arena: SecretArena
  /// As they are, or escaped.
  private let values: SecretList
  private let forms: FormList
  private let hexadecimalForms: FormList
  /// See `Filter`.
  private let filter: Secret
  private let stride: Int
  /// Bytes that one takes at most; 0: there is nothing to look for.
  let longest: Int
  /// Some value is too short to be looked for.
  package let isIncomplete: Bool

  /// A longer step would save little: every cache line has been touched by then.
  private static let longestStride = 32

  /// - Parameter read: the values.
  init(of read: borrowing SecretList, in arena: SecretArena) throws(SystemError) {
    var values = try SecretList(in: arena)
    var forms = try FormList(ignoresCase: false, in: arena)
    var hexadecimalForms = try FormList(ignoresCase: true, in: arena)
    var longest = 0
    let ranges = read.ranges
    try read.withBytes { (bytes) throws(SystemError) in
      for range in ranges where range.count >= SecretForms.shortestValue {
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        try values.add { (text) throws(SystemError) in try text.append(value) }
        try SecretForms(value: value).addBase64(to: &forms.list)
        try SecretForms(value: value).addHexadecimal(to: &hexadecimalForms.list)
        longest = max(longest, SpelledValue(value).longest)
      }
    }
    isIncomplete = ranges.contains { $0.count < SecretForms.shortestValue }
    let counts = (values.ranges + forms.list.ranges + hexadecimalForms.list.ranges).map(\.count)
    self.longest = max(longest, counts.max() ?? 0)
    stride = min(max(1, (counts.min() ?? 0) - Sample.size + 1), Self.longestStride)
    filter = try Filter.made(of: values, forms.list, hexadecimalForms.list, stride: stride, in: arena)
    self.values = values
    self.forms = forms
    self.hexadecimalForms = hexadecimalForms
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
      let (twice, thrice) = (2 &* stride, 3 &* stride)
      var position = stride &- 1
      let last = text.count &- Sample.size
      while position <= last {
        let fourth = position &+ thrice
        // Four at once, which do not wait for each other: nearly all of the time is spent here.
        if fourth <= last,
          filter.flags(start, position) | filter.flags(start, position &+ stride)
            | filter.flags(start, position &+ twice) | filter.flags(start, fourth) == 0
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
  /// - Parameter isMost: only if so much of it stands there as is no accident.
  func openEnd(of text: UnsafeRawBufferPointer, isMost: Bool = false) -> Int {
    guard longest > 0 else { return 0 }
    return filter.withBytes { filter in
      guard let filter = Filter(filter) else { return 0 }
      var start = max(0, text.count &- (longest &- 1))
      while start < text.count {
        // What begins before the next sample shows it, too.
        let next = start &+ stride
        if next &- 1 &+ Sample.size > text.count
          || filter.mayHave(text.loadUnaligned(fromByteOffset: next &- 1, as: UInt32.self))
        {
          for start in start..<min(next, text.count) {
            if mayBegin(text, at: start, filter), begins(text, at: start, isMost: isMost) { return text.count &- start }
          }
        }
        start = next
      }
      return 0
    }
  }

  private func mayBegin(_ text: UnsafeRawBufferPointer, at start: Int, _ filter: Filter) -> Bool {
    guard filter.mayBegin(with: text[start]) else { return false }
    guard start &+ Sample.size <= text.count else { return true }
    return filter.mayHave(text.loadUnaligned(fromByteOffset: start, as: UInt32.self))
  }

  private func begins(_ text: UnsafeRawBufferPointer, at start: Int, isMost: Bool) -> Bool {
    if forms.begins(in: text, at: start, isMost: isMost) { return true }
    if hexadecimalForms.begins(in: text, at: start, isMost: isMost) { return true }
    return values.withBytes { bytes in
      values.ranges.contains { range in
        SpelledValue(UnsafeRawBufferPointer(rebasing: bytes[range])).begins(in: text, at: start, isMost: isMost)
      }
    }
  }

  private func compare(
    _ sample: UInt32, at position: Int, in text: UnsafeRawBufferPointer, _ places: inout [Range<Int>]
  ) {
    let folded = Sample.folded(sample)
    forms.forEachPlace(of: folded, at: position, stride: stride, in: text) { Self.add($0, to: &places) }
    hexadecimalForms.forEachPlace(of: folded, at: position, stride: stride, in: text) { Self.add($0, to: &places) }
    values.withBytes { bytes in
      for range in values.ranges {
        let value = SpelledValue(UnsafeRawBufferPointer(rebasing: bytes[range]))
        for start in max(0, position &- stride &+ 1)...position {
          let length = value.length(in: text, at: start)
          if length > 0 { Self.add(start..<(start &+ length), to: &places) }
        }
      }
    }
  }

  /// Those of one sample have it in common, and those of later samples begin behind it: only the last can overlap.
  private static func add(_ place: Range<Int>, to places: inout [Range<Int>]) {
    guard let last = places.last, place.lowerBound <= last.upperBound else { return places.append(place) }
    let start = min(last.lowerBound, place.lowerBound)
    places[places.count - 1] = start..<max(last.upperBound, place.upperBound)
  }
}
