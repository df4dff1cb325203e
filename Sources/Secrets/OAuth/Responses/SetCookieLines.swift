@_spi(SecretBytes) internal import Secrets
internal import System

/// The cookies of a response that `TokenResponseReceiver` receives, in locked memory.
package final class SetCookieLines {
  private let memory: LockedMemory
  private var count = 0
  /// Ranges of the cookie values in the bytes of `withBytes`, in the order of the lines.
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

  func forget() {
    wipe(UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<count]))
    count = 0
    ranges = []
  }

  /// Moves the value of a `Set-Cookie` line into this memory, and overwrites the original. Skips other lines.
  /// - Parameter line: a header field line with its line end.
  func extractCookie(from line: UnsafeMutableRawBufferPointer) {
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
