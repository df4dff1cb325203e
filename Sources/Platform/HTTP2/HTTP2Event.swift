package import HTTP1

/// An event of an `HTTP2Session`.
package enum HTTP2Event: Sendable {
  /// A head, also an interim one (1xx).
  case head(HTTP2Session.StreamID, HeaderBlock)
  /// Data, as a range of the bytes that `receive` got.
  case data(HTTP2Session.StreamID, Range<Int>)
  case trailers(HTTP2Session.StreamID, HeaderBlock)
  /// The peer has ended its message. Comes after its head, data and trailers.
  case end(HTTP2Session.StreamID)
  /// The stream has failed: reset by the peer, or a violation of the protocol by the peer, or not processed by a peer that is
  /// going away (REFUSED_STREAM). Comes once, as the last event. A server gets this event only after a head.
  /// `isViolation`: whether this end has reset the stream, because of what the peer sent.
  case failed(HTTP2Session.StreamID, HTTP2Code, isViolation: Bool)
  /// A server has reset a stream, because the head of its request is malformed or too large. The only event of this stream.
  case refused(HTTP2Session.StreamID, MessageError)
  /// The last queued body byte was sent. For a server also: the end of a message with a body was sent.
  case drained(HTTP2Session.StreamID)
  /// The peer's settings have changed.
  case settings
  /// The peer takes no further stream. Streams above `last` were not processed.
  case goAway(last: HTTP2Session.StreamID, HTTP2Code)
  case pong
}

/// One field to send. The memory must stay valid until the head is sent.
package struct HTTP2Field {
  /// In lower case.
  package let name: UnsafeRawBufferPointer
  package let value: UnsafeRawBufferPointer
  /// Whether the field is never indexed, also not by others on the way (RFC 7541 section 7.1.3).
  package let isSensitive: Bool

  package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool = false) {
    (self.name, self.value, self.isSensitive) = (name, value, isSensitive)
  }
}
