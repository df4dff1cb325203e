internal import Policy

package struct AttackContext: Sendable {
  let method: String
  /// The target of a request that the rules allow.
  let path: String
  /// Path prefix of the service, including the slash at the end.
  let mount: String
  /// A path of the service that the rules refuse; `nil` if there is none.
  let deniedPath: String?
  /// The value of `Host` in requests to bearerd.
  let authority: String
  /// The value of `Host` that the upstream must receive.
  let upstream: String
  /// The authority of a server to which bearerd must never connect.
  let foreignAuthority: String
  /// The listener's port; `nil` for a Unix socket.
  let port: UInt16?
  /// Name and value of the header field that bearerd adds; `nil` if there is none or its value is unknown.
  let credential: (field: String, value: String)?
  /// Lowercase names of the header fields that callers may set or that bearerd adds.
  let allowed: Set<String>
  /// What bearerd does with a caller's own credential; `nil` if bearerd adds no credential.
  let onClientHeader: HeaderPolicy.OnClientHeader?
  /// Returns a reading of the received path that the rules refuse; `nil` if the rules allow all readings.
  let disallowedReading: @Sendable (ReceivedRequest) -> String?

  var isInjecting: Bool { onClientHeader != nil }

  func matches(_ row: AttackRow) -> Bool {
    switch row.scope {
    case .everything: true
    case .ports: port != nil
    case .credentials: isInjecting
    case .name(let name): isInjecting && !allowed.contains(folded(name)) && folded(name) != ownField
    case .ownField: credential != nil
    }
  }

  private var ownField: String? { credential.map { folded($0.field) } }

  /// Returns a text from the attack table with its placeholders replaced.
  func expanded(_ text: String) -> String {
    var text = text.replacing("{smuggled}", with: "{method} {path}?smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n")
    let field = credential?.field ?? ""
    for (word, value) in [
      ("{method}", method), ("{path}", path), ("{mount}", mount), ("{host}", authority),
      ("{port}", port.map { "\($0)" } ?? ""), ("{other}", port.map { "\($0 ^ 1)" } ?? ""), ("{upstream}", upstream),
      ("{stranger}", foreignAuthority),
      ("{field}", field), ("{field, lower case}", field.lowercased()), ("{field, upper case}", field.uppercased()),
      ("{field, with _}", field.replacing("-", with: "_")),
      ("{field, with .}", field.replacing("-", with: ".")),
    ] { text = text.replacing(word, with: value) }
    return text
  }

  /// Returns the row's request, and the upstream's response; `nil` for the default response.
  package func messages(of row: AttackRow) -> (request: [UInt8], response: [UInt8]?) {
    (Array(expanded(row.request).utf8), row.response.map { Array(expanded($0).utf8) })
  }
}
