/// One row of the table of refusals.
package struct RefusalRow: Sendable {
  package let refuser: Refuser
  package let status: Int
  /// Last part of the problem's `type`; stable.
  package let code: StaticString
  /// A registered error type of RFC 9209 §2.3, for `Proxy-Status`.
  package let proxyError: StaticString
  /// One sentence without its full stop, which the client is told.
  package let title: StaticString
  /// An account of what happened, in whole sentences. Markdown's backticks and links are the only markup, here and in `todo`.
  package let what: StaticString
  /// Advice: what to do about it.
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

/// Who said no.
package enum Refuser: CaseIterable, Sendable {
  case parser, admission, rules, keyring, connector, answer, bearerd

  /// As a heading, and after "refused by".
  package var title: StaticString {
    switch self {
    case .parser: "the HTTP parser: the request is not valid HTTP/1.1"
    case .admission: "admission: this caller or this kind of request is not allowed"
    case .rules: "your rules: the request may not be sent"
    case .keyring: "the keyring: the credential cannot be used"
    case .connector: "bearerd, while connecting to the upstream: the request was not sent"
    case .answer: "bearerd, because of the upstream: there is no response that can be passed on"
    case .bearerd: "bearerd itself"
    }
  }
}
