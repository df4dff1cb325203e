package import HTTP1
internal import HTTP2

/// What the configuration says about HTTP/2 connections to upstreams.
package struct UpstreamHTTP2: Sendable {
  /// The limits for the head of a response.
  package var heads = HeadLimits.forResponses
  /// Bytes of one response that the upstream may send before the client has received them.
  package var streamWindow = 262_144
  /// Milliseconds of silence before a PING frame. `nil` to send none.
  package var ping: UInt64? = 330_000
  /// Milliseconds that the upstream may take to respond to a PING frame.
  package var pingTimeout: UInt64 = 20_000

  package init() {}

  var limits: HTTP2Limits {
    var limits = HTTP2Limits()
    limits.streamWindow = streamWindow
    limits.connectionWindow = 4 &* streamWindow
    // `:status` is one of the fields. `HeadReader` has the exact limit in bytes: HTTP/2 counts 32 more for each field.
    limits.responseFields = heads.fields &+ 1
    limits.headerBlock = heads.headBytes &+ 32 &* limits.responseFields
    return limits
  }
}
