internal import HTTP1

extension MessageError.Reason {
  /// The meaning of `reason` for a request that was refused as malformed, or for one that was too large or of another version.
  var sentence: String {
    switch self {
    case .badRequestLine: "the first line is not a method, a target and a version with one space between them"
    case .badMethod: "the method has a character that no method can have"
    case .badTarget: "the target is neither a path nor a whole URL"
    case .forbiddenInTarget: "the target has a control character"
    case .fragmentInTarget: "the target has a `#`"
    case .userinfoInTarget: "the URL in the request line has a user name or password"
    case .targetTooLong: "path and query are longer than `limits.target`"
    case .badStatusLine: "of answers only: the first line is not a version, three digits and a phrase"
    case .tlsHandshake: "a TLS client spoke to this port, which is for plain HTTP: the URL has to begin with `http://`"
    case .http2Frame: "of answers only: the upstream sent what looks like HTTP/2, which bearerd does not speak"
    case .unsupportedVersion: "the version is neither HTTP/1.0 nor HTTP/1.1"
    case .badFieldName: "a field's name is empty, or has a character that no name can have"
    case .noColon: "a line of the head has no colon"
    case .spaceBeforeColon: "there is white space in a field's name, or between the name and its colon"
    case .badFieldValue: "a field's value has a control character"
    case .obsoleteFolding: "a line begins with white space: a field that goes on over several lines"
    case .bareCarriageReturn: "there is a CR without an LF behind it"
    case .bareLineFeed: "a line ends with an LF that has no CR before it"
    case .headTooLarge: "the fields are larger than `limits.head`"
    case .tooManyFields: "there are more fields than `limits.fields`"
    case .tooManyOptions: "`Connection` names more than 32 options"
    case .missingHost: "there is no `Host` field, which HTTP/1.1 demands"
    case .duplicateHost: "there are two `Host` fields"
    case .badHost: "the `Host` field is no host with an optional port"
    case .badContentLength: "`Content-Length` is not a number, or too large a one"
    case .duplicateContentLength: "`Content-Length` is repeated; in a response, with another number"
    case .lengthWithTransferEncoding: "there are both `Content-Length` and `Transfer-Encoding`"
    case .badTransferEncoding: "`Transfer-Encoding` is no clean list, or `chunked` is not its one and last coding"
    case .duplicateTransferEncoding: "`chunked` is repeated"
    case .unknownTransferCoding: "there is a transfer coding other than `chunked`"
    case .transferEncodingInHTTP10: "HTTP/1.0 has no `Transfer-Encoding`"
    case .unknownExpectation: "`Expect` says something other than `100-continue`"
    case .badMaxForwards: "`Max-Forwards` of an OPTIONS is not a number, or there are two of them"
    case .badChunkSize: "a chunk's size is not hexadecimal, or too large"
    case .chunkLineTooLong: "the line with a chunk's size is too long"
    case .badChunkEnd: "a chunk does not end where its size says"
    case .trailersTooLarge: "the trailers are larger than `limits.head`"
    case .closedInHead: "the connection ended within the head"
    case .closedInBody: "the connection ended within the body"
    }
  }
}
