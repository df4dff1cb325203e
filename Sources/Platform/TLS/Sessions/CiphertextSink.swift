/// The output for ciphertext. Accepts all bytes immediately, and queues bytes that the socket does not accept.
open class CiphertextSink {
  package init() {}

  /// Announces several calls of `send`. The sink may collect the bytes until `flush`.
  open func gather() {}
  open func flush() {}

  /// Sends the bytes, which are valid only during the call.
  open func send(_ ciphertext: Span<UInt8>) { fatalError("abstract") }
}
