/// Limits of a head. Bytes and counts; the defaults are the configuration's.
package struct HeadLimits: Sendable, Equatable {
  package var headBytes = 65_536
  package var fields = 128
  package var targetBytes = 16_384
  package init() {}
}

/// Reads one head at a time from the start of a message. Restartable at every byte: the caller passes all bytes of the
/// message that came so far; the reader remembers how far it looked for the end.
package struct HeadReader: Sendable {
  package init(limits: HeadLimits) {}

  /// - Returns: how many bytes of `input` the head took, or nil when its end has not come yet.
  ///   Leading empty lines are skipped and counted (RFC 9112 §2.2). `head` keeps its storage from message to message.
  package mutating func readRequest(
    _ input: Span<UInt8>, into head: inout RequestHead
  ) throws(MessageError) -> Int? { fatalError() }

  /// The same for a response. 1xx heads are heads like any other.
  package mutating func readResponse(
    _ input: Span<UInt8>, into head: inout ResponseHead
  ) throws(MessageError) -> Int? { fatalError() }
}
