internal import Glibc
import Primitives
package import System

/// Bytes in locked memory, wiped when it ends. Move-only: the compiler refuses to print, box, copy or collect it, and
/// outside of this module nothing of it can be read or made, but by those who import `@_spi(SecretBytes)`: the other modules
/// of this storey, which write secrets into requests, take them out of answers and look for them there.
package struct Secret: ~Copyable {
  private let arena: SecretArena
  private var block: SecretArena.Block
  private var used = 0

  /// Empty, with room.
  @_spi(SecretBytes) public init(capacity: Int, in arena: SecretArena) throws(SystemError) {
    block = try arena.allocate(byteCount: capacity)
    self.arena = arena
  }

  deinit { arena.release(block) }

  /// Stands in the place of each byte of a secret in what is shown.
  package static let mask = UInt8(ascii: "*")

  package var count: Int { used }

  /// Borrowed for the call. Copy them into locked memory or a VerifiedSession, and nowhere else.
  @_spi(SecretBytes) public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: block.bytes[..<used]))
  }

  /// Copies them behind what is there. More room is made if need be; the old place is wiped.
  @_spi(SecretBytes) public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try makeRoom(for: bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: block.bytes[used...]).copyMemory(from: bytes)
    used += bytes.count
  }

  /// Appends one byte, in locked memory as all others.
  @_spi(SecretBytes) public mutating func append(_ byte: UInt8) throws(SystemError) {
    try makeRoom(for: 1)
    block.bytes[used] = byte
    used += 1
  }

  /// So many bytes that are zero.
  @_spi(SecretBytes) public mutating func append(zeros count: Int) throws(SystemError) {
    try makeRoom(for: count)
    UnsafeMutableRawBufferPointer(rebasing: block.bytes[used..<(used + count)]).initializeMemory(
      as: UInt8.self, repeating: 0)
    used += count
  }

  /// Removes the last bytes, and wipes them.
  @_spi(SecretBytes) public mutating func removeLast(_ count: Int) {
    let kept = max(0, used - count)
    wipe(UnsafeMutableRawBufferPointer(rebasing: block.bytes[kept..<used]))
    used = kept
  }

  /// Removes the first bytes: the others come to the front, and what is left behind them is wiped.
  @_spi(SecretBytes) public mutating func removeFirst(_ count: Int) {
    let gone = min(count, used)
    block.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[gone..<used]))
    removeLast(gone)
  }

  /// Writes this byte all over a part.
  @_spi(SecretBytes) public mutating func fill(_ range: Range<Int>, with byte: UInt8) {
    for index in range.clamped(to: 0..<used) { block.bytes[index] = byte }
  }

  /// Sets one bit, counted from the lowest of the first byte.
  @_spi(SecretBytes) public mutating func setBit(_ index: Int) {
    block.bytes[index >> 3] |= 1 << UInt8(truncatingIfNeeded: index & 7)
  }

  /// For text of a configuration, which is no secret.
  @_spi(SecretBytes) public mutating func append(_ text: String) throws(SystemError) {
    for byte in text.utf8 { try append(byte) }
  }

  /// Appends two lower-case hexadecimal digits.
  @_spi(SecretBytes) public mutating func append(hexadecimal byte: UInt8) throws(SystemError) {
    try append(ASCII.hexDigit(byte >> 4))
    try append(ASCII.hexDigit(byte))
  }

  /// As base64 (RFC 4648 section 4), in one line.
  @_spi(SecretBytes) public mutating func append(base64 bytes: UnsafeRawBufferPointer) throws(SystemError) {
    func digit(_ value: UInt32) -> UInt8 {
      switch UInt8(truncatingIfNeeded: value & 63) {
      case let value where value < 26: value + UInt8(ascii: "A")
      case let value where value < 52: value - 26 + UInt8(ascii: "a")
      case let value where value < 62: value - 52 + UInt8(ascii: "0")
      case 62: UInt8(ascii: "+")
      default: UInt8(ascii: "/")
      }
    }
    var index = 0
    while index < bytes.count {
      let rest = bytes.count - index
      let second = rest > 1 ? UInt32(bytes[index + 1]) : 0
      let third = rest > 2 ? UInt32(bytes[index + 2]) : 0
      let group = UInt32(bytes[index]) << 16 | second << 8 | third
      try append(digit(group >> 18))
      try append(digit(group >> 12))
      try append(rest > 1 ? digit(group >> 6) : UInt8(ascii: "="))
      try append(rest > 2 ? digit(group) : UInt8(ascii: "="))
      index += 3
    }
  }

  /// The old place is wiped.
  private mutating func makeRoom(for count: Int) throws(SystemError) {
    guard block.bytes.count - used < count else { return }
    let larger = try arena.allocate(byteCount: max(used + count, 2 * block.bytes.count))
    larger.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[..<used]))
    arena.release(block)
    block = larger
  }

  /// Takes as long for equal bytes as for others of the same length.
  package borrowing func isEqual(to other: borrowing Secret) -> Bool {
    withBytes { mine in
      other.withBytes { theirs in
        guard mine.count == theirs.count else { return false }
        var difference: UInt8 = 0
        for index in mine.indices { difference |= mine[index] ^ theirs[index] }
        return difference == 0
      }
    }
  }
}

/// Zeroes; the compiler cannot leave it out.
@_spi(SecretBytes) public func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
  guard let start = bytes.baseAddress else { return }
  explicit_bzero(start, bytes.count)
}

/// Zeroes bytes that held a secret, in their own place.
package func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { wipe($0) }
}
