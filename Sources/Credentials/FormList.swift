internal import Glibc
internal import System

/// Forms that stand in a text byte by byte as they are, but perhaps for the case of their letters.
struct FormList: ~Copyable {
  var list: SecretList
  let ignoresCase: Bool

  init(ignoresCase: Bool, in arena: SecretArena) throws(SystemError) {
    list = try SecretList(in: arena)
    self.ignoresCase = ignoresCase
  }

  /// Every form that has this sample among its first `stride`, and all of whose other bytes are there too.
  /// - Parameter sample: folded.
  borrowing func forEachPlace(
    of sample: UInt32, at position: Int, stride: Int, in text: UnsafeRawBufferPointer, _ body: (Range<Int>) -> Void
  ) {
    list.withBytes { bytes in
      for range in list.ranges {
        for offset in 0..<min(stride, position &+ 1)
        where Sample.folded(bytes.loadUnaligned(fromByteOffset: range.lowerBound &+ offset, as: UInt32.self)) == sample
        {
          let start = position &- offset
          guard range.count <= text.count &- start,
            isSame(text, start, bytes, range.lowerBound, count: range.count)
          else { continue }
          body(start..<(start &+ range.count))
        }
      }
    }
  }

  /// Whether the text ends within a form that begins here.
  /// - Parameter isMost: and has so much of it as is no accident.
  borrowing func begins(in text: UnsafeRawBufferPointer, at start: Int, isMost: Bool) -> Bool {
    let count = text.count &- start
    return list.withBytes { bytes in
      list.ranges.contains { range in
        range.count > count && (!isMost || SecretForms.isMost(count, of: range.count))
          && isSame(text, start, bytes, range.lowerBound, count: count)
      }
    }
  }

  /// Forms without regard to case are ASCII, without a zero byte.
  private func isSame(
    _ text: UnsafeRawBufferPointer, _ start: Int, _ bytes: UnsafeRawBufferPointer, _ other: Int, count: Int
  ) -> Bool {
    guard let text = text.baseAddress, let bytes = bytes.baseAddress else { return false }
    return ignoresCase
      ? strncasecmp(text + start, bytes + other, count) == 0 : memcmp(text + start, bytes + other, count) == 0
  }
}
