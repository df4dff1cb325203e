internal import Policy

/// A place at which rows of the table are played: what the words in their messages stand for.
package struct AttackPlace: Sendable {
  let method: String
  /// A target that is let through.
  let path: String
  /// The prefix of the service's paths, with its closing slash.
  let mount: String
  /// A path below the mount that is refused; nil: there is none.
  let outside: String?
  /// The value of `Host` here, and the one that it has to have at the upstream.
  let authority: String
  let upstream: String
  /// An origin's authority that nothing leads to.
  let stranger: String
  let port: UInt16?
  /// The field that carries the credential, and its whole value; nil: it is in no field, or not known.
  let credential: (field: String, value: String)?
  /// Names that clients may set all the same, lower case.
  let allowed: Set<String>
  /// The treatment of a client's own credential; nil: none is added.
  let onClientHeader: HeaderPolicy.OnClientHeader?
  /// Nil: the rules let through whatever the upstream may make of this request's path. Else how it may read it.
  let escape: @Sendable (ReceivedRequest) -> String?

  var isInjecting: Bool { onClientHeader != nil }

  func concerns(_ row: AttackRow) -> Bool {
    switch row.concern {
    case .everything: true
    case .ports: port != nil
    case .credentials: isInjecting
    case .name(let name): isInjecting && !allowed.contains(folded(name)) && folded(name) != ownField
    case .ownField: credential != nil
    }
  }

  private var ownField: String? { credential.map { folded($0.field) } }

  /// A text of the table, as it is here.
  func text(_ text: String) -> String {
    var text = text.replacing("{smuggled}", with: "{method} {path}?smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n")
    let field = credential?.field ?? ""
    for (word, value) in [
      ("{method}", method), ("{path}", path), ("{mount}", mount), ("{host}", authority),
      ("{port}", port.map { "\($0)" } ?? ""), ("{other}", port.map { "\($0 ^ 1)" } ?? ""), ("{upstream}", upstream),
      ("{stranger}", stranger),
      ("{field}", field), ("{field, lower case}", field.lowercased()), ("{field, upper case}", field.uppercased()),
      ("{field, with _}", field.replacing("-", with: "_")),
      ("{field, with .}", field.replacing("-", with: ".")),
    ] { text = text.replacing(word, with: value) }
    return text
  }

  /// The bytes that go to bearerd, and the upstream's answer to them.
  package func messages(of row: AttackRow) -> (request: [UInt8], answer: [UInt8]?) {
    (Array(text(row.request).utf8), row.answer.map { Array(text($0).utf8) })
  }
}

extension AttackPlace {
  /// The place of an end-to-end test, with rules of its own and no more than that.
  package init(
    method: String, path: String, mount: String, outside: String, port: UInt16, upstream: String, stranger: String,
    credential: (field: String, value: String), escape: @escaping @Sendable (ReceivedRequest) -> String?
  ) {
    self.init(
      method: method, path: path, mount: mount, outside: outside, authority: "localhost:\(port)", upstream: upstream,
      stranger: stranger, port: port, credential: credential, allowed: [], onClientHeader: .replace,
      escape: escape)
  }
}
