internal import HTTP1
internal import Policy
internal import Primitives

/// The client is told this about a refused response, beside the code and the place.
package struct ResponseFault: Sendable {
  /// The reason why the response is malformed; `nil` for every other refusal.
  var reason: MessageError.Reason?
  /// The name of the faulty field: letters, digits and punctuation of a token. Empty if no field is known.
  var field: [UInt8]
  /// Whether the connection to the upstream had served an earlier request.
  var isReused: Bool
}

extension Exchange {
  /// Records what a repaired head means for the log, and that no other request may use the session (RFC 9112 section 6.3).
  mutating func recordRepairs() {
    record.repairs.formUnion(response.repairs)
    if response.repairs.contains(.fieldName) { record.dropped.insert(.illegalName) }
    session.isRepaired = true
  }

  /// Records why a response is malformed.
  /// - Parameter input: the bytes that were being read; for a fault of a head, from its beginning.
  mutating func recordFault(_ error: MessageError, in input: Span<UInt8>, _ redaction: (any Redaction)?) {
    record.answerProblem = error.reason
    record.fault = error.fault
    guard let name = error.fault.name, name.upperBound <= input.count else { return }
    var field: [UInt8] = []
    field.append(input.extracting(name))
    // No head was searched: an upstream may have sent the credential as a field's name.
    if redact != .off {
      guard let redaction, redaction.redact(&field) else { return }
      record.redactions = redaction.count
    }
    record.faultyField = Array(field.prefix(Self.longestName))
  }

  /// The description of a refused response; `nil` if it is not the upstream's response that was refused.
  mutating func responseFault(_ refusal: Refusal) -> ResponseFault? {
    guard refusal.row.refuser == .answer else { return nil }
    record.isReused = session.isReused
    return ResponseFault(reason: record.answerProblem, field: record.faultyField, isReused: record.isReused)
  }

  private static var longestName: Int { 64 }
}
