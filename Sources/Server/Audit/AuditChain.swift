internal import Crypto

/// The state of a hash chain after its last record.
///
/// A record is `n=17 time=… … chain=…`. `chain` is the SHA-256 of the previous value and the text before ` chain=`.
package struct AuditChain: Sendable {
  /// The number of the last record. 0 if there is none.
  package private(set) var count: UInt64 = 0
  /// The chain value of the last record.
  package private(set) var head = ChainHash.start
  private var material: [UInt8] = []

  init() {}

  init(after line: AuditLine) { self.init(count: line.number, head: line.chain) }

  init(count: UInt64, head: ChainHash) {
    self.count = count
    self.head = head
  }

  /// Appends a record with its number, chain value and newline. Returns `false` and appends nothing if OpenSSL fails.
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

  /// Computes the chain value of the next record, and counts the record. Returns `false` if OpenSSL fails.
  /// - Parameter record: The text before ` chain=`.
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
    // All empty arrays share one storage. Several threads would write its length here.
    if bytes.isEmpty { return }
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  mutating func append(text: String) { append(contentsOf: text.utf8) }
}
