/// Where ciphertext goes. Takes everything, at once (what the socket does not take it queues), and never calls out.
open class CiphertextSink {
  package init() {}

  /// The bytes are borrowed for the call.
  open func send(_ ciphertext: Span<UInt8>) { fatalError("abstract") }
}
