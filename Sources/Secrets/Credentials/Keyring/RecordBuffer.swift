@_spi(SecretBytes) internal import Secrets
internal import TLS

/// Combines pieces of a request into full TLS records.
struct RecordBuffer {
  let memory: UnsafeMutableRawBufferPointer
  private var used = 0
  private var highWaterMark = 0
  /// The first error of a write, after which all bytes are discarded.
  private var failure: TLSError?

  init(memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
  }

  @inline(__always)
  mutating func append(_ bytes: Span<UInt8>, over session: inout VerifiedSession) {
    bytes.withUnsafeBytes { append($0, over: &session) }
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer, over session: inout VerifiedSession) {
    guard bytes.count <= memory.count &- used else { return appendInParts(bytes, over: &session) }
    guard bytes.count > 0 else { return }
    UnsafeMutableRawBufferPointer(rebasing: memory[used...]).copyMemory(from: bytes)
    used &+= bytes.count
  }

  private mutating func appendInParts(_ bytes: UnsafeRawBufferPointer, over session: inout VerifiedSession) {
    var rest = bytes
    while !rest.isEmpty {
      if used == memory.count { flush(over: &session) }
      let part = rest.prefix(memory.count - used)
      append(UnsafeRawBufferPointer(rebasing: part), over: &session)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
    }
  }

  mutating func appendLineBreak(over session: inout VerifiedSession) {
    let bytes: (UInt8, UInt8) = (0x0D, 0x0A)
    withUnsafeBytes(of: bytes) { append($0, over: &session) }
  }

  /// Sends the rest. Throws the first error of all writes.
  mutating func finish(over session: inout VerifiedSession) throws(TLSError) {
    flush(over: &session)
    if let failure { throw failure }
  }

  private mutating func flush(over session: inout VerifiedSession) {
    highWaterMark = max(highWaterMark, used)
    let bytes = UnsafeRawBufferPointer(rebasing: memory[..<used])
    used = 0
    guard failure == nil else { return }
    do throws(TLSError) { try session.write(bytes) } catch { failure = error }
  }

  mutating func wipe() {
    Secrets.wipe(UnsafeMutableRawBufferPointer(rebasing: memory[..<max(highWaterMark, used)]))
  }
}
