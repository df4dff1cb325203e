@_spi(SecretBytes) internal import Secrets
internal import TLS

/// Combines pieces of a request into full TLS records.
struct RecordBuffer {
  private let start: UnsafeMutableRawPointer
  private let capacity: Int
  private var used = 0
  private var highWaterMark = 0
  /// The first error of a write, after which all bytes are discarded.
  private var failure: TLSError?

  /// `memory` must not be empty.
  init(memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress, memory.count > 0 else { preconditionFailure("no memory for a record") }
    self.start = start
    capacity = memory.count
  }

  /// How many bytes still fit into the current record.
  var room: Int { capacity &- used }

  @inline(__always)
  mutating func append(_ bytes: Span<UInt8>, over session: inout VerifiedSession) {
    bytes.withUnsafeBytes { append($0, over: &session) }
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer, over session: inout VerifiedSession) {
    let count = bytes.count
    guard count <= capacity &- used else { return appendInParts(bytes, over: &session) }
    guard count > 0, let source = bytes.baseAddress else { return }
    (start + used).copyMemory(from: source, byteCount: count)
    used &+= count
  }

  private mutating func appendInParts(_ bytes: UnsafeRawBufferPointer, over session: inout VerifiedSession) {
    var rest = bytes
    while !rest.isEmpty {
      if used == capacity { flush(over: &session) }
      let part = rest.prefix(capacity - used)
      append(UnsafeRawBufferPointer(rebasing: part), over: &session)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
    }
  }

  @inline(__always)
  mutating func appendLineBreak(over session: inout VerifiedSession) {
    let bytes: InlineArray<2, UInt8> = [0x0D, 0x0A]
    append(bytes.span, over: &session)
  }

  /// Sends the rest. Throws the first error of all writes.
  mutating func finish(over session: inout VerifiedSession) throws(TLSError) {
    flush(over: &session)
    if let failure { throw failure }
  }

  private mutating func flush(over session: inout VerifiedSession) {
    highWaterMark = max(highWaterMark, used)
    let bytes = UnsafeRawBufferPointer(start: start, count: used)
    used = 0
    guard failure == nil else { return }
    do throws(TLSError) { try session.write(bytes) } catch { failure = error }
  }

  mutating func wipe() {
    Secrets.wipe(UnsafeMutableRawBufferPointer(start: start, count: max(highWaterMark, used)))
  }
}
