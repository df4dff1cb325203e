/// An error code (RFC 9113 section 7).
package struct HTTP2Code: RawRepresentable, Sendable, Equatable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static var noError: HTTP2Code { HTTP2Code(rawValue: 0) }
  package static var protocolError: HTTP2Code { HTTP2Code(rawValue: 1) }
  package static var internalError: HTTP2Code { HTTP2Code(rawValue: 2) }
  package static var flowControlError: HTTP2Code { HTTP2Code(rawValue: 3) }
  package static var streamClosed: HTTP2Code { HTTP2Code(rawValue: 5) }
  package static var frameSizeError: HTTP2Code { HTTP2Code(rawValue: 6) }
  package static var refusedStream: HTTP2Code { HTTP2Code(rawValue: 7) }
  package static var cancel: HTTP2Code { HTTP2Code(rawValue: 8) }
  package static var compressionError: HTTP2Code { HTTP2Code(rawValue: 9) }
  package static var enhanceYourCalm: HTTP2Code { HTTP2Code(rawValue: 11) }
  package static var http11Required: HTTP2Code { HTTP2Code(rawValue: 13) }
}

extension HTTP2Code: CustomStringConvertible {
  private static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]

  /// The name in RFC 9113, or the number of an unknown code.
  package var description: String {
    rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error code \(rawValue)"
  }
}

/// Why an HTTP/2 connection must end, or why a message cannot be sent.
package struct HTTP2Error: Error, CustomStringConvertible {
  package let code: HTTP2Code
  /// What happened, in words for people. Has no bytes of the peer.
  package let description: String
  /// Whether the connection must end. `false` if only this message cannot be sent.
  package let endsConnection: Bool

  init(_ code: HTTP2Code, _ description: String, endsConnection: Bool = true) {
    (self.code, self.description, self.endsConnection) = (code, description, endsConnection)
  }
}
