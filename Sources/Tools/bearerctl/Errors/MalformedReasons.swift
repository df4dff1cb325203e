internal import HTTP1

extension MessageError.Reason {
  /// The explanation of this reason, as a clause without a period.
  var sentence: String {
    switch self {
    case .badRequestLine: "the request line is not a method, a target and a version, separated by single spaces"
    case .badMethod: "the method has a character that is not allowed"
    case .badTarget: "the target is neither a path nor a complete URL"
    case .forbiddenInTarget: "the target has a control character"
    case .fragmentInTarget: "the target has a `#`"
    case .userinfoInTarget: "the URL in the request line has a user name or password"
    case .targetTooLong: "the path and query are longer than `limits.target`"
    case .badStatusLine: "only in responses: the first line is not a version, three digits and a phrase"
    case .tlsHandshake: "a TLS client connected to this plain-HTTP port: the URL must begin with `http://`"
    case .http2Frame:
      "only in responses: the upstream sent HTTP/2 on an HTTP/1.1 connection. If `upstream` begins with `http://`, set `protocol: http2`"
    case .unsupportedVersion: "the version is neither HTTP/1.0 nor HTTP/1.1"
    case .badFieldName:
      "the name of a header field is empty or has a character that is not allowed. HTTP/2 allows no upper-case letters"
    case .noColon: "a line of the header section has no colon"
    case .spaceBeforeColon: "there is white space in the name of a header field, or between the name and the colon"
    case .badFieldValue:
      "the value of a header field has a control character. In an HTTP/2 request, the value also must not begin or end with white space"
    case .obsoleteFolding: "a line begins with white space: a header field must not continue on the next line"
    case .bareCarriageReturn: "a CR has no LF after it"
    case .bareLineFeed: "a line ends with an LF without a CR before it"
    case .headTooLarge: "the header fields are larger than `limits.head`"
    case .tooManyFields: "there are more header fields than `limits.fields`"
    case .tooManyOptions: "`Connection` names more than 32 options"
    case .missingHost: "there is no `Host` field, which HTTP/1.1 requires, and in HTTP/2 also no `:authority`"
    case .duplicateHost: "there are two `Host` fields"
    case .badHost: "the `Host` field (in HTTP/2: `:authority`) is not a host with an optional port"
    case .badContentLength: "`Content-Length` is not a number, or is too large"
    case .duplicateContentLength: "`Content-Length` is repeated. In a response, only different numbers are an error"
    case .lengthWithTransferEncoding: "there are both `Content-Length` and `Transfer-Encoding`"
    case .badTransferEncoding: "`Transfer-Encoding` is not a valid list, or `chunked` is not its only and last coding"
    case .duplicateTransferEncoding: "`chunked` is repeated"
    case .unknownTransferCoding: "there is a transfer coding other than `chunked`"
    case .transferEncodingInHTTP10: "`Transfer-Encoding` is not allowed in HTTP/1.0"
    case .unknownExpectation: "`Expect` has a value other than `100-continue`"
    case .badMaxForwards: "`Max-Forwards` of an OPTIONS request is not a number, or is repeated"
    case .badChunkSize: "the size of a chunk is not a hexadecimal number, or is too large"
    case .chunkLineTooLong: "the line with the size of a chunk is too long"
    case .badChunkEnd: "a chunk does not end where its size says"
    case .trailersTooLarge: "the trailers are larger than `limits.head`"
    case .badPseudoHeader:
      "only in HTTP/2: a field such as `:path` or `:status` is missing, repeated, unknown, invalid or after other fields"
    case .connectionField: "only in HTTP/2: there is a field about an HTTP/1.1 connection, such as `transfer-encoding`"
    case .hostMismatch: "only in HTTP/2: `host` and `:authority` differ"
    case .closedInHead: "the connection ended before the header section was complete"
    case .closedInBody: "the connection ended before the body was complete"
    }
  }
}
