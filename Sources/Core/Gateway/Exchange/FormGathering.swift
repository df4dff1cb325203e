internal import HTTP1
internal import Policy
internal import Primitives

/// The buffered body of a form whose parameters are part of the signature (RFC 5849 section 3.4.1.3.1).
struct FormGathering: Sendable {
  private enum State { case none, underWay, whole }

  private var state = State.none
  private(set) var body: [UInt8] = []

  /// Maximum length of a form, in bytes.
  static let limit = 65_536

  var isUnderWay: Bool { state == .underWay }
  var isWhole: Bool { state == .whole }

  mutating func reset() {
    if state == .none { return }
    state = .none
    body.removeAll()
  }

  mutating func begin() { if state == .none { state = .underWay } }

  /// Buffers a part of the form. Returns `false` if the form is too long.
  mutating func keep(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count <= FormGathering.limit - body.count else { return false }
    body.append(bytes)
    return true
  }

  mutating func end() { state = .whole }
}

extension Exchange {
  private static let formType = Array("application/x-www-form-urlencoded".utf8)

  /// Whether the request must wait for its whole body, because its credential signs forms.
  var awaitsForm: Bool {
    mutating get {
      guard !isRequestComplete else { return false }
      if form.isUnderWay { return true }
      guard let grant, let snapshot, snapshot.rules.grants[grant].signsForms else { return false }
      return head.fields.contains { field in
        guard FieldName.matches(field.name, of: head.bytes.span, "content-type") else { return false }
        let value = head.bytes[field.value]
        return value.count >= Self.formType.count
          && zip(value, Self.formType).allSatisfy { $0 | 0x20 == $1 | 0x20 }
      }
    }
  }
}

extension ClientConnection {
  /// Begins to buffer the form. Sends 100 (Continue) to a client that expects it.
  mutating func beginForm(output: inout Output) {
    if !exchange.form.isUnderWay, exchange.head.expectsContinue {
      output.response.begin(100, reason: "Continue")
      client.writeInterim(output.response, to: &output.toClient)
      output.actions.insert(.sendToClient)
    }
    exchange.form.begin()
  }

  mutating func gatherForm(_ input: Span<UInt8>, position: inout Int, output: inout Output) {
    if let refusal = gatherForm(input, position: &position) {
      abort(refusal, output: &output)
    } else if exchange.isRequestComplete {
      output.actions.insert(.openUpstream)
    }
  }

  /// Buffers bytes of the form. Returns `nil`, or a refusal if the body is invalid or too long.
  private mutating func gatherForm(_ input: Span<UInt8>, position: inout Int) -> Refusal? {
    do throws(MessageError) {
      while true {
        switch try client.readBody(input, position: &position) {
        case .needsMore: return nil
        case .data(let range):
          exchange.record.bytesUp &+= UInt64(range.count)
          guard exchange.form.keep(input.extracting(range)) else { return .plain(.formTooLarge) }
        case .end:
          exchange.requestEnded(client.takeTrailers())
          exchange.form.end()
          return nil
        }
      }
    } catch {
      exchange.record.fault = error.fault
      return .malformed(error.reason)
    }
  }
}
