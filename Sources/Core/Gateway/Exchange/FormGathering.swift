internal import HTTP1
internal import Policy
internal import Primitives

/// A body whose parameters are signed with the head (RFC 5849 section 3.4.1.3.1): it is gathered before a session is asked
/// for, and goes out with the head at once.
struct FormGathering: Sendable {
  private enum State { case none, underWay, whole }

  private var state = State.none
  /// The body so far, without its framing.
  private(set) var body: [UInt8] = []

  /// More than anybody fills in; what goes out in one piece has to be held in one.
  static let limit = 65_536

  var isUnderWay: Bool { state == .underWay }
  var isWhole: Bool { state == .whole }

  mutating func reset() {
    if state == .none { return }
    state = .none
    body.removeAll()
  }

  mutating func begin() { if state == .none { state = .underWay } }

  /// False: there is no room for it.
  mutating func keep(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count <= FormGathering.limit - body.count else { return false }
    body.append(bytes)
    return true
  }

  mutating func end() { state = .whole }
}

extension Exchange {
  private static let formType = Array("application/x-www-form-urlencoded".utf8)

  /// Whether the request waits until its body is here: what its credential writes depends on it.
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

  /// Bytes of the body. nil, or what is wrong with them.
  mutating func gatherForm(_ input: Span<UInt8>, position: inout Int) -> Refusal? {
    do throws(MessageError) {
      while !requestBody.isComplete {
        switch try requestBody.next(input, position: &position) {
        case .needsMore: return nil
        case .data(let range):
          record.bytesUp &+= UInt64(range.count)
          guard form.keep(input.extracting(range)) else { return .plain(.formTooLarge) }
        case .end: break
        }
      }
      form.end()
      return nil
    } catch {
      record.fault = error.fault
      return .malformed(error.reason)
    }
  }
}

extension ClientConnection {
  /// The client waits for a word before it sends the body, and the upstream, which would say it, gets no head before that.
  mutating func beginForm(output: inout Output) {
    if !exchange.form.isUnderWay, exchange.head.expectsContinue {
      output.toClient.append("HTTP/1.1 100 Continue\r\n\r\n")
      output.actions.insert(.sendToClient)
    }
    exchange.form.begin()
  }

  mutating func gatherForm(_ input: Span<UInt8>, position: inout Int, output: inout Output) {
    if let refusal = exchange.gatherForm(input, position: &position) {
      abort(refusal, output: &output)
    } else if exchange.isRequestComplete {
      output.actions.insert(.openUpstream)
    }
  }
}
