/// The way out for ciphertext. Takes everything, at once (what the socket does not take it queues), and never calls out.
open class CiphertextSink {
  package init() {}

  /// More than one record is about to come: they may be gathered until `flush`, which comes behind the last of them.
  open func gather() {}
  open func flush() {}

  /// The bytes are borrowed for the call.
  open func send(_ ciphertext: Span<UInt8>) { fatalError("abstract") }
}
