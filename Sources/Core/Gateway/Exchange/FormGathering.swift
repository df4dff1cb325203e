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
      // A reload after a part of the body was sent, to an upstream that did not process it.
      guard hasReadNoBody else { return false }
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
