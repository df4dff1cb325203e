package import HTTP1
package import Policy

/// One exchange, for the log: never a field value, a query or a body.
package struct AccessRecord: Sendable {
  package var method = Method.other
  package var route: Route?
  package var caller: Caller?
  package var status = 0
  package var refusal: Refusal?
  /// The service that was asked for without a client token that is known: for people, as nothing was decided there.
  package var sought: Int?
  /// Status of the upstream's final answer, whatever became of it; 0: there is none yet.
  package var upstreamStatus = 0
  /// The fault of an upstream's answer that is no clean HTTP/1.1; nil: none was found.
  package var answerProblem: MessageError.Reason?
  /// The name of the faulty field of such an answer, searched for the credential. Empty if no field is known.
  package var faultyField: [UInt8] = []
  /// The repairs of the upstream's response heads.
  package var repairs = HeadRepairs.none
  /// The response fields that the client did not get.
  package var dropped = DroppedFields(rawValue: 0)
  /// `true` if the upstream's response was refused, and its connection had served an earlier request.
  package var isReused = false
  /// The place of the fault in a message that was refused as malformed, or for a character of a request's target.
  package var fault = MessageFault()
  /// The timeout or rate that a refused request or its response exceeded, as the key of the configuration that raises it. `nil` for
  /// every other refusal.
  package var timeout: RequestTimeout?
  /// Body bytes that went up and came down.
  package var bytesUp: UInt64 = 0
  package var bytesDown: UInt64 = 0
  package var isRetried = false
  /// The upstream called the credential expired, and the request went out once more with a new value.
  package var isRenewed = false
  /// The upstream rejected the credential that we added (401, 407).
  package var isRejected = false
  /// Places of the answer where the credential stood and was masked.
  package var redactions: UInt64 = 0
  /// The answer's body was coded in a way in which it cannot be searched: the client got our own words in its place.
  package var isWithheld = false
  /// Names of fields and parameters that were removed because they carry a credential or choose an identity, a method or a
  /// path. The fields of the added credential are not among them, because programs send those as a rule.
  package var removed = RemovedNames()
  /// A page asked whether it may send a request, and we said yes: no service had a part in it.
  package var isPreflight = false
  /// The exchange ended before its answer was complete.
  package var isAborted = false
  /// Generation of the configuration that decided it.
  package var generation: UInt64 = 0

  package init() {}

  /// Nothing about it needs a look.
  package var isOrdinary: Bool { refusal == nil && !isRejected && redactions == 0 && !isWithheld }

  /// The service that the exchange came to, and the rule that decided it, also of a refusal, as far as they are known.
  package var place: (service: Int, rule: Int?)? {
    if let route { return (route.service, route.rule) }
    guard case .policy(let refusal) = refusal else { return nil }
    return refusal.place
  }
}

/// A timeout or a rate of requests and responses, by the key of the configuration that sets it.
package enum RequestTimeout: String, Sendable {
  case clientHead = "limits.client_head"
  case clientBodyRate = "limits.client_body_rate"
  case bodySilence = "timeouts.body_silence"
  case responseHead = "timeouts.response_head"
  case upgraded = "timeouts.upgraded"
  case total = "timeouts.total"
  case connect = "timeouts.connect"
  case handshake = "timeouts.handshake"

  /// The timeout for which a connection to the upstream was given up; `nil` for every other refusal.
  init?(_ refusal: Refusal) {
    switch refusal {
    case .plain(.nameTimeout), .plain(.connectionTimeout): self = .connect
    case .plain(.handshakeTimeout): self = .handshake
    default: return nil
    }
  }
}

extension Exchange {
  /// The place of the fault for which the request or its response was refused, or the key of the timeout that has passed, in words for the log.
  /// `nil` if neither is known. It has no byte of the request, which may be a secret.
  package var faultDetail: String? {
    if let timeout = record.timeout { return timeout.rawValue }
    if record.fault.isEmpty { return nil }
    let place = record.fault.description
    return record.faultyField.isEmpty ? place : "\(place), field \(String(decoding: record.faultyField, as: UTF8.self))"
  }
}
