internal import Glibc
internal import System

/// Writes records into one file after the other. What could not be written yet waits, as it was handed over: each is tied to
/// the chain when its turn comes.
struct AuditEncoder {
  private(set) var file: AuditFile
  /// After the last record that is wholly in the file, as far as is known.
  private(set) var settled: AuditChain
  /// Records without number and chain, each with its newline; from `position` on they are to be written.
  private var batch: [UInt8] = []
  private var position = 0
  /// Bytes between `composed` and `position`, as they stand in the file; the first `prefix` bytes belong to none.
  private var output: [UInt8] = []
  private var composed = 0
  private var prefix = 0
  private var written = 0
  private var chain: AuditChain
  private var isUnended: Bool
  private var clock = Timestamp()
  private let version: String

  /// Bytes that are made ready at a time.
  private static let pieceCount = 1 << 16

  init(_ file: AuditFile, version: String) {
    self.file = file
    self.version = version
    settled = file.end.chain ?? AuditChain()
    chain = settled
    isUnended = file.end.isUnended
    open()
  }

  var isIdle: Bool { position == batch.count && output.isEmpty }
  /// Bytes that wait.
  var waiting: Int { batch.count - composed }
  /// Records that wait.
  var waitingRecords: Int { batch[composed...].count { $0 == UInt8(ascii: "\n") } }

  /// Exchanges what is done with for what waits.
  mutating func take(_ records: inout [UInt8]) {
    batch.removeAll(keepingCapacity: true)
    (position, composed) = (0, 0)
    swap(&batch, &records)
  }

  mutating func noteDropped(_ count: UInt64) { add("event=dropped count=\(count)") }
  mutating func noteEnd() { add("event=closed") }

  /// The chain goes on in another file, unless that one has its own.
  mutating func change(to new: AuditFile) {
    rewind()
    if written == 0 { close() }
    file = new
    if let end = new.end.chain { settled = end }
    (chain, isUnended, written) = (settled, new.end.isUnended, 0)
    open()
  }

  /// Writes all that waits. nil: it is in the file.
  mutating func write() -> SystemError? {
    while true {
      if output.isEmpty, let error = compose() { return error }
      if output.isEmpty { return nil }
      let (count, error) = file.file.append(output.span.extracting(written...))
      written += count
      if let error { return error }
      output.removeAll(keepingCapacity: true)
      (settled, composed, written) = (chain, position, 0)
    }
  }

  func synchronise() { file.file.synchronise() }

  // MARK: records of our own

  private mutating func add(_ text: String) {
    clock.update()
    batch += Array("time=".utf8) + clock.text + Array(" \(text)\n".utf8)
  }

  /// Puts the record that begins a file, or goes on with one, before all that wait.
  private mutating func open() {
    let rest = Array(batch[position...])
    batch.removeAll(keepingCapacity: true)
    (position, composed) = (0, 0)
    let previous = settled.count == 0 ? "none" : "\(settled.head)"
    let torn = file.end.torn == 0 ? "" : " torn=\(file.end.torn)"
    add("event=opened version=\(version) pid=\(getpid()) previous=\(previous)\(torn)")
    batch += rest
  }

  /// The last record of a file that another one follows; if it cannot be written, the next file does without it.
  private mutating func close() {
    clock.update()
    var (line, next) = ([UInt8](), settled)
    let body = Array("time=".utf8) + clock.text + Array(" event=closed".utf8)
    guard next.append(body.span, to: &line) else { return }
    if file.file.append(line.span).error == nil { settled = next }
  }

  // MARK: bytes

  /// Makes the next piece ready.
  private mutating func compose() -> SystemError? {
    if isUnended, position < batch.count { output.append(UInt8(ascii: "\n")) }
    prefix = output.count
    let batch = batch
    while position < batch.count, output.count < AuditEncoder.pieceCount {
      let end = batch[position...].firstIndex(of: UInt8(ascii: "\n")) ?? batch.count
      let record = batch.span.extracting(position..<end)
      guard chain.append(record, to: &output) else {
        return output.count > prefix ? nil : SystemError(operation: "SHA-256", errno: EIO)
      }
      position = min(end + 1, batch.count)
      isUnended = false
    }
    return nil
  }

  /// Back to before what is not wholly in the file.
  private mutating func rewind() {
    let whole = output.prefix(written).dropFirst(prefix).count { $0 == UInt8(ascii: "\n") }
    position = composed
    let batch = batch
    for _ in 0..<whole {
      var line: [UInt8] = []
      let end = batch[position...].firstIndex(of: UInt8(ascii: "\n")) ?? batch.count
      let record = batch.span.extracting(position..<end)
      _ = settled.append(record, to: &line)
      position = min(end + 1, batch.count)
    }
    composed = position
    output.removeAll(keepingCapacity: true)
  }
}
