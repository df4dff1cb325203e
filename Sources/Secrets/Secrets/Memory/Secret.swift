internal import Glibc
import Primitives
package import System

/// Bytes in locked memory, which are wiped when the value's lifetime ends.
///
/// Only modules in `Sources/Secrets` may create secrets or read their bytes, with `@_spi(SecretBytes) import`.
package struct Secret: ~Copyable {
  private let arena: SecretArena
  private var block: SecretArena.Block
  private var used = 0

  /// Creates an empty secret with the given capacity.
  @_spi(SecretBytes) public init(capacity: Int, in arena: SecretArena) throws(SystemError) {
    block = try arena.allocate(byteCount: capacity)
    self.arena = arena
  }

  /// Returns a copy of the bytes.
  @_spi(SecretBytes) public static func copy(
    of bytes: UnsafeRawBufferPointer, in arena: SecretArena
  ) throws(SystemError) -> Secret {
    var copy = try Secret(capacity: bytes.count, in: arena)
    try copy.append(bytes)
    return copy
  }

  deinit { arena.release(block) }

  /// The byte that replaces each byte of a secret in masked text.
  package static let mask = UInt8(ascii: "*")

  package var count: Int { used }

  /// Lends the bytes for the duration of the call. Copy them only into locked memory or a `VerifiedSession`.
  @_spi(SecretBytes) public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: block.bytes[..<used]))
  }

  /// Appends a copy of the bytes.
  @_spi(SecretBytes) public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try makeRoom(for: bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: block.bytes[used...]).copyMemory(from: bytes)
    used += bytes.count
  }

  /// Appends one byte.
  @_spi(SecretBytes) public mutating func append(_ byte: UInt8) throws(SystemError) {
    try makeRoom(for: 1)
    block.bytes[used] = byte
    used += 1
  }

  /// Appends `count` bytes with the value 0.
  @_spi(SecretBytes) public mutating func append(zeros count: Int) throws(SystemError) {
    try makeRoom(for: count)
    UnsafeMutableRawBufferPointer(rebasing: block.bytes[used..<(used + count)]).initializeMemory(
      as: UInt8.self, repeating: 0)
    used += count
  }

  /// Removes the last bytes, and wipes them.
  @_spi(SecretBytes) public mutating func removeLast(_ count: Int) {
    let remaining = max(0, used - count)
    wipe(UnsafeMutableRawBufferPointer(rebasing: block.bytes[remaining..<used]))
    used = remaining
  }

  /// Removes the first bytes. The rest moves to the front.
  @_spi(SecretBytes) public mutating func removeFirst(_ count: Int) {
    let removed = min(count, used)
    block.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[removed..<used]))
    removeLast(removed)
  }

  /// Overwrites a range with one byte value.
  @_spi(SecretBytes) public mutating func fill(_ range: Range<Int>, with byte: UInt8) {
    for index in range.clamped(to: 0..<used) { block.bytes[index] = byte }
  }

  /// Sets one bit. Bit 0 is the lowest bit of the first byte.
  @_spi(SecretBytes) public mutating func setBit(_ index: Int) {
    block.bytes[index >> 3] |= 1 << UInt8(truncatingIfNeeded: index & 7)
  }

  /// Appends text that is not secret, for example from the configuration.
  @_spi(SecretBytes) public mutating func append(_ text: String) throws(SystemError) {
    for byte in text.utf8 { try append(byte) }
  }

  /// Appends a byte as two lower-case hexadecimal digits.
  @_spi(SecretBytes) public mutating func append(hexadecimal byte: UInt8) throws(SystemError) {
    try append(ASCII.hexDigit(byte >> 4))
    try append(ASCII.hexDigit(byte))
  }

  /// Appends the bytes as base64 (RFC 4648 section 4), without line breaks.
  @_spi(SecretBytes) public mutating func append(base64 bytes: UnsafeRawBufferPointer) throws(SystemError) {
    func digit(_ value: UInt32) -> UInt8 { Base64.character(UInt8(truncatingIfNeeded: value & 63)) }
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

  private mutating func makeRoom(for count: Int) throws(SystemError) {
    guard block.bytes.count - used < count else { return }
    let larger = try arena.allocate(byteCount: max(used + count, 2 * block.bytes.count))
    larger.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[..<used]))
    arena.release(block)
    block = larger
  }

  /// Compares the bytes, in constant time if both secrets have the same length.
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

/// Overwrites the bytes with zeros.
@_spi(SecretBytes) public func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
  // The compiler cannot optimize this call away.
  guard let start = bytes.baseAddress else { return }
  explicit_bzero(start, bytes.count)
}

/// Overwrites an array that contained a secret with zeros, without copying it.
package func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { wipe($0) }
}
