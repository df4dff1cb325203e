/// The reason why a message was refused.
package struct MessageError: Error, Sendable, Equatable {
  package enum Reason: String, Sendable, CaseIterable {
    case badRequestLine, badMethod, badTarget, forbiddenInTarget, fragmentInTarget, userinfoInTarget, targetTooLong
    case badStatusLine, unsupportedVersion
    /// The message begins like a TLS handshake (RFC 8446 §5.1) or an HTTP/2 frame (RFC 9113 §4.1).
    case tlsHandshake, http2Frame
    case badFieldName, noColon, spaceBeforeColon, badFieldValue, obsoleteFolding, bareCarriageReturn, bareLineFeed
    case headTooLarge, tooManyFields, tooManyOptions
    case missingHost, duplicateHost, badHost
    case badContentLength, duplicateContentLength, lengthWithTransferEncoding
    case badTransferEncoding, duplicateTransferEncoding, unknownTransferCoding, transferEncodingInHTTP10
    case unknownExpectation, badMaxForwards
    case badChunkSize, chunkLineTooLong, badChunkEnd, trailersTooLarge
    /// HTTP/2 only (RFC 9113 §8.2.2, §8.3). Other faults of an HTTP/2 message have the reasons of HTTP/1.1.
    case badPseudoHeader, connectionField, hostMismatch
    case closedInHead, closedInBody
  }

  package let reason: Reason
  package let fault: MessageFault

  package init(_ reason: Reason, _ fault: MessageFault = MessageFault()) {
    self.reason = reason
    self.fault = fault
  }

  /// Returns the error with this line number, or unchanged if it already has a location.
  func located(at line: Int) -> MessageError {
    fault.isEmpty ? MessageError(reason, MessageFault(line: line)) : self
  }

  /// The status of the response to a request with this error.
  package var status: Int {
    switch reason {
    case .targetTooLong: 414
    case .headTooLarge, .tooManyFields, .tooManyOptions, .trailersTooLarge: 431
    case .unsupportedVersion: 505
    case .unknownTransferCoding: 501
    case .unknownExpectation: 417
    default: 400
    }
  }
}
