/// The output for ciphertext. Accepts all bytes immediately, queues bytes that the socket does not accept, and never
/// calls back.
open class CiphertextSink {
  package init() {}

  /// Announces several TLS records. The sink may collect them until `flush`.
  open func gather() {}
  open func flush() {}

  /// Sends the bytes, which are borrowed for the call.
  open func send(_ ciphertext: Span<UInt8>) { fatalError("abstract") }
}
