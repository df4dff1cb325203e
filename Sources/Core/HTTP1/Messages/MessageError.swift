/// Why a message was refused. `RemoteProtocolError` in other libraries: the peer broke HTTP, not we.
package struct MessageError: Error, Sendable, Equatable {
  package enum Reason: String, Sendable, CaseIterable {
    case badRequestLine, badMethod, badTarget, forbiddenInTarget, fragmentInTarget, userinfoInTarget, targetTooLong
    case badStatusLine, unsupportedVersion
    /// The first bytes are those of a TLS handshake (RFC 8446 section 5.1), or of a frame of HTTP/2 (RFC 9113 section 4.1).
    case tlsHandshake, http2Frame
    case badFieldName, noColon, spaceBeforeColon, badFieldValue, obsoleteFolding, bareCarriageReturn, bareLineFeed
    case headTooLarge, tooManyFields, tooManyOptions
    case missingHost, duplicateHost, badHost
    case badContentLength, duplicateContentLength, lengthWithTransferEncoding
    case badTransferEncoding, duplicateTransferEncoding, unknownTransferCoding, transferEncodingInHTTP10
    case unknownExpectation, badMaxForwards
    case badChunkSize, chunkLineTooLong, badChunkEnd, trailersTooLarge
    case closedInHead, closedInBody
  }

  package let reason: Reason
  /// The place of the fault, as far as it is known.
  package let fault: MessageFault

  package init(_ reason: Reason, _ fault: MessageFault = MessageFault()) {
    self.reason = reason
    self.fault = fault
  }

  /// Returns the same error with the number of the line, unless the error already has a place.
  func located(at line: Int) -> MessageError {
    fault.isEmpty ? MessageError(reason, MessageFault(line: line)) : self
  }

  /// The status that answers a request with this error.
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
