/// The limits of one HTTP/2 connection.
package struct HTTP2Limits: Sendable {
  /// Maximum number of streams that the peer may have open.
  package var streams = 128
  /// Bytes of one stream that the peer may send before they are used.
  package var streamWindow = 262_144
  /// Bytes of all streams that may be on the way. This window opens again when data arrives.
  package var connectionWindow = 1_048_576
  /// Maximum size of a header block, counted as `HeaderBlock.size`.
  package var headerBlock = 65_536
  /// How many header blocks of the maximum size may arrive at once.
  package var headerBlocks = 16
  /// Maximum number of fields in the header block of a request.
  package var requestFields = 128
  /// Maximum number of fields in the header block of a response.
  package var responseFields = 1024
  /// Points for frames that cost more than they achieve. `HTTP2Budget` lists the costs.
  package var budget = 10_000
  /// A kind of work that costs nothing. Only tests set it, to show that no other limit stops a flood.
  package var exempt: HTTP2Budget.Cost?
  /// Bytes of control frames that may wait for a peer that does not read.
  package var queuedControlBytes = 65_536

  /// Whether a server announces that it accepts extended CONNECT (RFC 8441 section 3).
  package var acceptsExtendedConnect = true

  package init() {}
}
