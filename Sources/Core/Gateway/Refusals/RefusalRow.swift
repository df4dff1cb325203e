/// The fixed texts and numbers of one error code.
package struct RefusalRow: Sendable {
  package let refuser: Refuser
  package let status: Int
  /// The last part of the problem's `type`. It must not change between versions.
  package let code: StaticString
  /// An error type that RFC 9209 section 2.3 registers, for `Proxy-Status`.
  package let proxyError: StaticString
  /// The `title` in the response body: a sentence without its full stop.
  package let title: StaticString
  /// What happened, in whole sentences. Here and in `todo`, the only markup is Markdown's backticks and links.
  package let what: StaticString
  /// What the user should do.
  package let todo: StaticString

  init(
    _ refuser: Refuser, _ status: Int, _ code: StaticString, _ proxyError: StaticString, _ title: StaticString,
    what: StaticString, todo: StaticString
  ) {
    self.refuser = refuser
    self.status = status
    self.code = code
    self.proxyError = proxyError
    self.title = title
    self.what = what
    self.todo = todo
  }
}

/// The component that refused a request.
package enum Refuser: CaseIterable, Sendable {
  case parser, admission, rules, keyring, connector, answer, bearerd

  /// Used as a heading, and after "refused by".
  package var title: StaticString {
    switch self {
    case .parser: "the HTTP parser: the request is not valid HTTP/1.1"
    case .admission: "admission: this caller or this kind of request is not allowed"
    case .rules: "your rules: the request is not allowed"
    case .keyring: "the keyring: the credential cannot be used"
    case .connector: "bearerd, while connecting to the upstream: the request was not sent"
    case .answer: "bearerd, because of the upstream: its response is missing or cannot be passed on"
    case .bearerd: "bearerd itself"
    }
  }
}
