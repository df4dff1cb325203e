/// The field names that bearerd treats specially. All others are `other`.
public enum KnownField: UInt8, Sendable, CaseIterable {
  case other
  // framing and connection (RFC 9110 §7.6.1, RFC 9112)
  case host, connection, contentLength, transferEncoding, te, trailer, upgrade, keepAlive, proxyConnection, expect
  case via, maxForwards
  // credentials and challenges
  case authorization, proxyAuthorization, wwwAuthenticate, proxyAuthenticate, authenticationInfo
  case proxyAuthenticationInfo, cookie, setCookie
  // browsers
  case origin, referer, secFetchSite, secFetchMode
  // response fields that contain URLs
  case location, contentLocation, link, refresh
  // request fields that contain URLs (RFC 4918)
  case destination, `if`
  // other
  case accept, acceptEncoding, contentType, userAgent, date, server

  /// The field name in its usual spelling. Empty for `other`.
  public var name: String {
    switch self {
    case .other: ""
    case .host: "Host"
    case .connection: "Connection"
    case .contentLength: "Content-Length"
    case .transferEncoding: "Transfer-Encoding"
    case .te: "TE"
    case .trailer: "Trailer"
    case .upgrade: "Upgrade"
    case .keepAlive: "Keep-Alive"
    case .proxyConnection: "Proxy-Connection"
    case .expect: "Expect"
    case .via: "Via"
    case .maxForwards: "Max-Forwards"
    case .authorization: "Authorization"
    case .proxyAuthorization: "Proxy-Authorization"
    case .wwwAuthenticate: "WWW-Authenticate"
    case .proxyAuthenticate: "Proxy-Authenticate"
    case .authenticationInfo: "Authentication-Info"
    case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
    case .cookie: "Cookie"
    case .setCookie: "Set-Cookie"
    case .origin: "Origin"
    case .referer: "Referer"
    case .secFetchSite: "Sec-Fetch-Site"
    case .secFetchMode: "Sec-Fetch-Mode"
    case .location: "Location"
    case .contentLocation: "Content-Location"
    case .link: "Link"
    case .refresh: "Refresh"
    case .destination: "Destination"
    case .if: "If"
    case .accept: "Accept"
    case .acceptEncoding: "Accept-Encoding"
    case .contentType: "Content-Type"
    case .userAgent: "User-Agent"
    case .date: "Date"
    case .server: "Server"
    }
  }
}
