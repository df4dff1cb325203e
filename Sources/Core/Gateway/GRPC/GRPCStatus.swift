/// The status codes of gRPC that bearerd sends. The raw value is the number in `grpc-status`.
package enum GRPCStatus: Int, Sendable {
  case unknown = 2
  case deadlineExceeded = 4
  case permissionDenied = 7
  case resourceExhausted = 8
  case unimplemented = 12
  case internalError = 13
  case unavailable = 14
  case unauthenticated = 16

  /// Creates the status for an HTTP status.
  ///
  /// gRPC defines 400, 401, 403, 404, 502, 503 and 504 in "HTTP to gRPC Status Code Mapping". gRPC defines 429 as `UNAVAILABLE`, for
  /// proxies that do not know gRPC. bearerd uses `RESOURCE_EXHAUSTED`, as servers do for an exceeded quota.
  package init(http status: Int) {
    switch status {
    case 401: self = .unauthenticated
    case 403, 421: self = .permissionDenied
    case 404, 405, 501: self = .unimplemented
    case 408: self = .deadlineExceeded
    case 413, 414, 429, 431: self = .resourceExhausted
    case 502, 503, 504: self = .unavailable
    case 400, 417, 500, 505: self = .internalError
    default: self = .unknown
    }
  }

  /// The name in the documentation of gRPC.
  package var name: StaticString {
    switch self {
    case .unknown: "UNKNOWN"
    case .deadlineExceeded: "DEADLINE_EXCEEDED"
    case .permissionDenied: "PERMISSION_DENIED"
    case .resourceExhausted: "RESOURCE_EXHAUSTED"
    case .unimplemented: "UNIMPLEMENTED"
    case .internalError: "INTERNAL"
    case .unavailable: "UNAVAILABLE"
    case .unauthenticated: "UNAUTHENTICATED"
    }
  }
}
