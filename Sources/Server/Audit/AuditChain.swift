internal import Crypto

/// The end of a chain of records: how many there are, and what the next one is tied to.
///
/// A record is `n=17 time=… … chain=…`; `chain` is the SHA-256 of the 32 bytes of the record's before it and all that stands
/// before ` chain=`.
package struct AuditChain: Sendable {
  /// The number of the last record; 0: there is none.
  package private(set) var count: UInt64 = 0
  package private(set) var head = ChainHash.start
  private var material: [UInt8] = []

  init() {}

  /// After the record that stands there.
  init(after line: AuditLine) { self.init(count: line.number, head: line.chain) }

  init(count: UInt64, head: ChainHash) {
    self.count = count
    self.head = head
  }

  /// Adds a record, with its newline. False when OpenSSL cannot: then nothing is added.
  mutating func append(_ body: Span<UInt8>, to output: inout [UInt8]) -> Bool {
    let start = output.count
    output.append(text: "n=\(count &+ 1) ")
    output.append(span: body)
    guard advance(over: output.span.extracting(start...)) else {
      output.removeLast(output.count - start)
      return false
    }
    output.append(text: AuditLine.chainKey)
    head.write(to: &output)
    output.append(UInt8(ascii: "\n"))
    return true
  }

  /// One record further. `record` is what stands before ` chain=`.
  mutating func advance(over record: Span<UInt8>) -> Bool {
    material.removeAll(keepingCapacity: true)
    material.append(contentsOf: head.bytes)
    material.append(span: record)
    let material = material
    guard sha256(of: material.span, into: &head.bytes) else { return false }
    count &+= 1
    return true
  }
}

extension [UInt8] {
  mutating func append(span bytes: Span<UInt8>) {
    // All empty arrays share one storage, to which this would write its length from several threads.
    if bytes.isEmpty { return }
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  mutating func append(text: String) { append(contentsOf: text.utf8) }
}
