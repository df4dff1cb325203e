@_spi(SecretBytes) internal import Secrets
internal import System
internal import TLS

/// Combines pieces of a request into full TLS records.
struct RecordBuffer {
  let memory: UnsafeMutableRawBufferPointer
  private var used = 0
  private var highWaterMark = 0

  init(memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer, session: inout VerifiedSession) throws(TLSError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = min(rest.count, memory.count - used)
      UnsafeMutableRawBufferPointer(rebasing: memory[used...]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
      used += count
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      if used == memory.count { try flush(session: &session) }
    }
  }

  mutating func append(_ line: CookieLine?, session: inout VerifiedSession) throws(TLSError) {
    guard let line else { return }
    try line.secret.withBytes { (bytes) throws(TLSError) in try append(bytes, session: &session) }
  }

  mutating func appendLineBreak(session: inout VerifiedSession) throws(TLSError) {
    try appendPair(0x0D, 0x0A, session: &session)
  }

  mutating func appendPair(_ first: UInt8, _ second: UInt8, session: inout VerifiedSession) throws(TLSError) {
    let bytes = (first, second)
    try withUnsafeBytes(of: bytes) { (bytes) throws(TLSError) in try append(bytes, session: &session) }
  }

  mutating func flush(session: inout VerifiedSession) throws(TLSError) {
    highWaterMark = max(highWaterMark, used)
    let bytes = UnsafeRawBufferPointer(rebasing: memory[..<used])
    used = 0
    try session.write(bytes)
  }

  mutating func wipe() {
    Secrets.wipe(UnsafeMutableRawBufferPointer(rebasing: memory[..<max(highWaterMark, used)]))
  }
}
