@_spi(SecretBytes) internal import Secrets
internal import System

/// The cookies of an answer on its way into `AnswerIntake`: they are secrets, and so they go into locked memory of their own as
/// soon as a line is whole, before anything else sees it. What reads the head gets lines of the same length.
package final class SetCookieLines {
  private let memory: LockedMemory
  private var count = 0
  /// The ranges of the values in the memory, in the order of the lines.
  package private(set) var ranges: [Range<Int>] = []

  init(byteCount: Int, mustLock: Bool) throws(SystemError) {
    memory = try LockedMemory(byteCount: byteCount, mustLock: mustLock)
  }

  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let bytes = UnsafeBufferPointer(
      start: UnsafePointer(memory.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)), count: count)
    return try body(bytes.span)
  }

  /// Wipes what came with an interim answer, or with the answer before.
  func forget() {
    wipe(UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<count]))
    count = 0
    ranges = []
  }

  /// A line with its end. If it is a Set-Cookie, its value is moved here, and `x` stands where it was.
  func take(_ line: UnsafeMutableRawBufferPointer) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isSetCookie(line[..<colon]) else { return }
    var value = (colon + 1)..<line.count
    while let last = value.last, isBlank(line[last]) || line[last] == 0x0D || line[last] == 0x0A { value.removeLast() }
    while let first = value.first, isBlank(line[first]) { value.removeFirst() }
    guard !value.isEmpty, value.count <= memory.bytes.count - count else { return }
    let old = UnsafeMutableRawBufferPointer(rebasing: line[value])
    UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...]).copyMemory(from: UnsafeRawBufferPointer(old))
    for index in old.indices where old[index] > 0x20 && old[index] < 0x7F { old[index] = UInt8(ascii: "x") }
    ranges.append(count..<(count + value.count))
    count += value.count
  }

  private func isSetCookie(_ name: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
    name.count == 10 && zip(name, "set-cookie".utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $0 > 0x40 }
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
