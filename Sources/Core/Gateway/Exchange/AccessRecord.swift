package import HTTP1
package import Policy

/// The log record of one exchange. It has no field values, no query and no body.
package struct AccessRecord: Sendable {
  package var method = Method.other
  package var route: Route?
  package var caller: Caller?
  /// The protocol in which the client sent the request.
  package var clientProtocol = ApplicationProtocol.http1
  /// The protocol in which the request was sent to the upstream, the last time. `nil` if it was not sent.
  package var upstreamProtocol: ApplicationProtocol?
  package var status = 0
  package var refusal: Refusal?
  /// The service that a request without a valid client token addresses, for the log.
  package var requestedService: Int?
  /// Status of the upstream's final response. 0 if there is none yet.
  package var upstreamStatus = 0
  /// The `grpc-status` of a gRPC call, from the upstream or from bearerd. `nil` if there is none yet.
  package var callStatus: Int?
  /// The reason why the upstream's response is malformed. `nil` if it is not.
  package var responseProblem: MessageError.Reason?
  /// The name of the faulty field in the response, with the credential masked. Empty if unknown.
  package var faultyField: [UInt8] = []
  package var repairs = HeadRepairs.none
  package var dropped = DroppedFields(rawValue: 0)
  /// `true` if the upstream's response was refused, and its connection had already served another request.
  package var isReused = false
  /// The position of the fault in a malformed message, or of the forbidden character in a request's target.
  package var fault = MessageFault()
  /// The timeout or rate that a refused request or its response exceeded. `nil` for every other refusal.
  package var timeout: RequestTimeout?
  /// Body bytes sent to the upstream.
  package var bytesUp: UInt64 = 0
  package var bytesDown: UInt64 = 0
  package var isRetried = false
  /// Number of additional attempts after upstream failures (`retry` of a service).
  package var retries = 0
  /// Whether the request was sent again with a renewed or computed credential, because the upstream asked for one.
  package var isRenewed = false
  /// Whether the upstream rejected the credential that bearerd added (401, 407, or the status of a gRPC call).
  package var isRejected = false
  /// Number of occurrences of the credential that were masked in the response.
  package var redactions: UInt64 = 0
  /// Whether the client got an error text instead of the body, because the body's coding cannot be searched.
  package var isBodyReplaced = false
  /// Names of removed request fields and parameters, for the log.
  package var removed = RemovedNames()
  /// Whether bearerd allowed a page's preflight, to which it responds itself.
  package var isPreflight = false
  /// Whether the exchange ended before its response was complete.
  package var isAborted = false
  package var generation: UInt64 = 0

  // Inlined with the exchange's, which saves copies of the whole value for each request.
  @inline(__always) package init() {}

  /// Whether the record has nothing special: no refusal, rejection, masking or replaced body.
  package var isOrdinary: Bool { refusal == nil && !isRejected && redactions == 0 && !isBodyReplaced }

  /// The service that the request addressed, and the deciding rule, as far as known.
  package var serviceAndRule: (service: Int, rule: Int?)? {
    if let route { return (route.service, route.rule) }
    guard case .policy(let refusal) = refusal else { return nil }
    return refusal.location
  }
}

/// A timeout or rate limit of requests and responses. The raw value is its configuration key, or the field that set it.
package enum RequestTimeout: String, Sendable {
  case clientHead = "limits.client_head"
  case clientBodyRate = "limits.client_body_rate"
  case bodySilence = "timeouts.body_silence"
  case responseHead = "timeouts.response_head"
  case upgraded = "timeouts.upgraded"
  case total = "timeouts.total"
  /// The deadline that the client of a gRPC call has set.
  case grpcTimeout = "grpc-timeout"
  case connect = "timeouts.connect"
  case handshake = "timeouts.handshake"

  /// Finds the timeout that ended the attempt to connect to the upstream. `nil` for every other refusal.
  init?(_ refusal: Refusal) {
    switch refusal {
    case .plain(.nameTimeout), .plain(.connectionTimeout): self = .connect
    case .plain(.handshakeTimeout): self = .handshake
    default: return nil
    }
  }
}

extension Exchange {
  /// The position of the fault or the key of the exceeded timeout, for the log. `nil` if neither is known.
  package var faultDetail: String? {
    if let timeout = record.timeout { return timeout.rawValue }
    if record.fault.isEmpty { return nil }
    let position = record.fault.description
    if record.faultyField.isEmpty { return position }
    return "\(position), field \(String(decoding: record.faultyField, as: UTF8.self))"
  }
}
