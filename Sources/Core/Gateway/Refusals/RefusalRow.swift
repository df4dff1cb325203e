/// The fixed texts and numbers of one error code.
package struct RefusalRow: Sendable {
  package let refuser: Refuser
  package let status: Int
  /// The status of a refused gRPC call.
  package let grpc: GRPCStatus
  /// The last part of the problem's `type`. It must not change between versions.
  package let code: StaticString
  /// An error type registered by RFC 9209 section 2.3, for `Proxy-Status`.
  package let proxyError: StaticString
  /// The `title` in the response body: a sentence without a final period.
  package let title: StaticString
  /// What happened, in complete sentences with Markdown's backticks and links.
  package let what: StaticString
  /// What the user should do.
  package let todo: StaticString

  /// - Parameter grpc: `nil` for the gRPC status that belongs to `status`.
  init(
    _ refuser: Refuser, _ status: Int, _ code: StaticString, _ proxyError: StaticString, _ title: StaticString,
    grpc: GRPCStatus? = nil, what: StaticString, todo: StaticString
  ) {
    self.refuser = refuser
    self.status = status
    self.grpc = grpc ?? GRPCStatus(http: status)
    self.code = code
    self.proxyError = proxyError
    self.title = title
    self.what = what
    self.todo = todo
  }
}

package enum Refuser: CaseIterable, Sendable {
  case parser, admission, rules, keyring, connector, upstream, bearerd

  /// The refuser and its reason, as a phrase for headings and after "refused by".
  package var title: StaticString {
    switch self {
    case .parser: "the HTTP parser: the request is not valid HTTP"
    case .admission: "admission: this caller or this kind of request is not allowed"
    case .rules: "your rules: the request is not allowed"
    case .keyring: "the keyring: the credential cannot be used"
    case .connector: "bearerd, while connecting to the upstream: the request was not sent"
    case .upstream: "bearerd, because of the upstream: its response is missing or cannot be passed on"
    case .bearerd: "bearerd itself"
    }
  }
}
