internal import HTTP1
internal import Policy
internal import Primitives

/// The details about a refused response that the client gets in addition to the error code.
package struct ResponseFault: Sendable {
  /// The reason why the response is malformed. `nil` for every other refusal.
  var reason: MessageError.Reason?
  /// The name of the faulty field. Empty if no field is known.
  var field: [UInt8]
  var isReused: Bool
}

extension Exchange {
  /// Records which faults in a response head were repaired, for the log.
  mutating func recordRepairs() {
    record.repairs.formUnion(response.repairs)
    if response.repairs.contains(.fieldName) { record.dropped.insert(.illegalName) }
  }

  /// Records why the upstream's response is malformed.
  /// - Parameter input: the bytes that were being read. For a fault in a head, they begin with the head.
  mutating func recordFault(_ error: MessageError, in input: Span<UInt8>, _ redaction: (any Redaction)?) {
    record.responseProblem = error.reason
    record.fault = error.fault
    guard let name = error.fault.name, name.upperBound <= input.count else { return }
    var field: [UInt8] = []
    field.append(input.extracting(name))
    // The head was not searched, and the upstream may have sent the credential as a field name.
    if redact != .off {
      guard let redaction, redaction.redact(&field) else { return }
      record.redactions = redaction.count
    }
    record.faultyField = Array(field.prefix(Self.longestName))
  }

  /// Returns the details about a refused response. `nil` if the refusal has another cause.
  mutating func responseFault(_ refusal: Refusal) -> ResponseFault? {
    guard refusal.row.refuser == .upstream else { return nil }
    record.isReused = session.isReused
    return ResponseFault(reason: record.responseProblem, field: record.faultyField, isReused: record.isReused)
  }

  private static var longestName: Int { 64 }
}
