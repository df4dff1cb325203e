internal import Glibc
internal import System

/// Writes records to the audit file, with numbers and chain values.
struct AuditEncoder {
  private(set) var file: AuditFile
  /// The chain after the last record that is in the file.
  private(set) var writtenChain: AuditChain
  /// Records without number and chain value, each with a newline.
  private var batch: [UInt8] = []
  private var position = 0
  /// The encoded bytes to write to the file.
  private var output: [UInt8] = []
  private var composed = 0
  private var prefix = 0
  /// Number of bytes of `output` that are already in the file.
  private var written = 0
  private var chain: AuditChain
  private var lacksNewline: Bool
  private var clock = Timestamp()
  private let version: String

  /// Approximate number of bytes to encode before each write.
  private static let pieceCount = 1 << 16

  init(_ file: AuditFile, version: String) {
    self.file = file
    self.version = version
    writtenChain = file.end.chain ?? AuditChain()
    chain = writtenChain
    lacksNewline = file.end.lacksNewline
    open()
  }

  var isIdle: Bool { position == batch.count && output.isEmpty }
  var pendingBytes: Int { batch.count - composed }
  var pendingRecords: Int { batch[composed...].count { $0 == UInt8(ascii: "\n") } }

  /// Replaces the written batch with `records`, and empties `records`.
  mutating func loadBatch(from records: inout [UInt8]) {
    batch.removeAll(keepingCapacity: true)
    (position, composed) = (0, 0)
    swap(&batch, &records)
  }

  mutating func noteDropped(_ count: UInt64) { add("event=dropped count=\(count)") }
  mutating func noteEnd() { add("event=closed") }

  mutating func change(to new: AuditFile) {
    rewind()
    if written == 0 { close() }
    file = new
    if let end = new.end.chain { writtenChain = end }
    (chain, lacksNewline, written) = (writtenChain, new.end.lacksNewline, 0)
    open()
  }

  /// Writes all records, and returns the error if this fails.
  mutating func write() -> SystemError? {
    while true {
      if output.isEmpty, let error = compose() { return error }
      if output.isEmpty { return nil }
      let (count, error) = file.file.append(output.span.extracting(written...))
      written += count
      if let error { return error }
      output.removeAll(keepingCapacity: true)
      (writtenChain, composed, written) = (chain, position, 0)
    }
  }

  // MARK: records about the file

  private mutating func add(_ text: String) {
    clock.update()
    batch += Array("time=".utf8) + clock.text + Array(" \(text)\n".utf8)
  }

  private mutating func open() {
    let rest = Array(batch[position...])
    batch.removeAll(keepingCapacity: true)
    (position, composed) = (0, 0)
    let previous = writtenChain.count == 0 ? "none" : "\(writtenChain.head)"
    let torn = file.end.torn == 0 ? "" : " torn=\(file.end.torn)"
    add("event=opened version=\(version) pid=\(getpid()) previous=\(previous)\(torn)")
    batch += rest
  }

  /// Writes `event=closed` before a change of files.
  private mutating func close() {
    clock.update()
    var (line, next) = ([UInt8](), writtenChain)
    let body = Array("time=".utf8) + clock.text + Array(" event=closed".utf8)
    guard next.append(body.span, to: &line) else { return }
    if file.file.append(line.span).error == nil { writtenChain = next }
  }

  // MARK: bytes

  /// Encodes the next records into `output`.
  private mutating func compose() -> SystemError? {
    if lacksNewline, position < batch.count { output.append(UInt8(ascii: "\n")) }
    prefix = output.count
    let batch = batch
    while position < batch.count, output.count < AuditEncoder.pieceCount {
      let end = batch[position...].firstIndex(of: UInt8(ascii: "\n")) ?? batch.count
      let record = batch.span.extracting(position..<end)
      guard chain.append(record, to: &output) else {
        return output.count > prefix ? nil : SystemError(operation: "SHA-256", errno: EIO)
      }
      position = min(end + 1, batch.count)
      lacksNewline = false
    }
    return nil
  }

  /// Discards encoded records that are not completely in the file.
  private mutating func rewind() {
    let whole = output.prefix(written).dropFirst(prefix).count { $0 == UInt8(ascii: "\n") }
    position = composed
    let batch = batch
    for _ in 0..<whole {
      var line: [UInt8] = []
      let end = batch[position...].firstIndex(of: UInt8(ascii: "\n")) ?? batch.count
      let record = batch.span.extracting(position..<end)
      _ = writtenChain.append(record, to: &line)
      position = min(end + 1, batch.count)
    }
    composed = position
    output.removeAll(keepingCapacity: true)
  }
}
