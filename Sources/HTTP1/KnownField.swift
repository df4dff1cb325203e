/// Field names that some decision depends on. Recognised once, while parsing, without regard to case.
package enum KnownField: UInt8, Sendable, CaseIterable {
  case other
  // framing and connection (RFC 9110 §7.6.1, RFC 9112)
  case host, connection, contentLength, transferEncoding, te, trailer, upgrade, keepAlive, proxyConnection, expect
  case via, maxForwards
  // credentials and challenges
  case authorization, proxyAuthorization, wwwAuthenticate, proxyAuthenticate, authenticationInfo
  case proxyAuthenticationInfo, cookie, setCookie
  // browsers
  case origin, referer, secFetchSite, secFetchMode
  // answers that name places
  case location, contentLocation, link, refresh
  // other
  case accept, acceptEncoding, contentType, userAgent, date, server

  /// The name in its usual spelling, `""` for `other`.
  package var name: String { "" }  // filled by HeadReader's author
}
