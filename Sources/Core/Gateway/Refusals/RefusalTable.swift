/// One row of the table.
package struct RefusalRow: Equatable, Sendable {
  package let status: Int
  /// Last part of the problem's `type`; stable.
  package let code: StaticStringBox
  package let title: StaticStringBox
  /// A registered error type of RFC 9209 §2.3.
  package let proxyError: StaticStringBox

  init(_ status: Int, _ code: StaticString, _ proxyError: StaticString, _ title: StaticString) {
    self.status = status
    self.code = StaticStringBox(code)
    self.title = StaticStringBox(title)
    self.proxyError = StaticStringBox(proxyError)
  }
}

/// A StaticString that can be compared.
package struct StaticStringBox: Equatable, Sendable, CustomStringConvertible {
  package let text: StaticString
  init(_ text: StaticString) { self.text = text }
  package var description: String { text.description }
  package static func == (a: Self, b: Self) -> Bool { a.description == b.description }
}

extension RefusalCode {
  /// Its row of the table.
  package var row: RefusalRow {
    switch self {
    case .malformedRequest:
      RefusalRow(400, "malformed-request", "http_request_error", "The request is not valid HTTP/1.1")
    case .reservedFieldInConnection:
      RefusalRow(
        400, "reserved-field-in-connection", "http_request_error",
        "The Connection field names a field that may not be removed")
    case .requestTimeout:
      RefusalRow(408, "request-timeout", "http_request_error", "The request did not arrive in time")
    case .targetTooLong:
      RefusalRow(414, "target-too-long", "http_request_error", "The request-target is too long")
    case .unknownExpectation:
      RefusalRow(417, "unknown-expectation", "http_request_error", "Only the expectation 100-continue is known here")
    case .headTooLarge:
      RefusalRow(431, "head-too-large", "http_request_error", "The request's fields are too large or too many")
    case .unknownTransferCoding:
      RefusalRow(501, "unknown-transfer-coding", "http_request_error", "Only the chunked transfer coding is known here")
    case .versionNotSupported:
      RefusalRow(505, "version-not-supported", "http_request_error", "Only HTTP/1.0 and HTTP/1.1 are spoken here")
    case .callerNotAllowed:
      RefusalRow(
        403, "caller-not-allowed", "http_request_denied",
        "This user may not ask here; allow_users says who may, and the log of bearerd names the line to add")
    case .callerUnknown:
      RefusalRow(
        403, "caller-unknown", "http_request_denied",
        "The system could not say which user is asking; connect again, from this machine")
    case .clientUnknown:
      RefusalRow(
        403, "client-unknown", "http_request_denied",
        "This listener wants a client token that it knows; send it where the API's key goes, as in Authorization: Bearer"
      )
    case .clientNotAllowed:
      RefusalRow(
        403, "client-not-allowed", "http_request_denied",
        "This client may not ask here; allow_clients says who may, and the log of bearerd names the line to add")
    case .originNotAllowed:
      RefusalRow(
        403, "origin-not-allowed", "http_request_denied",
        "The request has an Origin field, so a web page sent it, and its origin is not listed under browsers of the listener"
      )
    case .crossSite:
      RefusalRow(
        403, "cross-site", "http_request_denied",
        "The request has a Sec-Fetch-Site field, so a web page sent it, and it does not say which: it has no Origin field"
      )
    case .siteUnknown:
      RefusalRow(
        403, "site-unknown", "http_request_denied",
        "The request looks like a browser's, and by this name a browser does not say which page it is for; use localhost"
      )
    case .methodNotSupported:
      RefusalRow(405, "method-not-supported", "http_request_denied", "TRACE, TRACK and CONNECT do not pass here")
    case .hostNotAllowed:
      RefusalRow(
        421, "host-not-allowed", "http_request_denied",
        "The Host field does not name this listener; use localhost with its port, or add the name to hosts of the listener"
      )
    case .authorityMismatch:
      RefusalRow(
        421, "authority-mismatch", "http_request_denied",
        "The request-target names another authority than this listener; bearerd is no general proxy: its URLs name bearerd"
      )
    case .tooManyConnections:
      RefusalRow(
        429, "too-many-connections", "http_request_denied",
        "This user has as many connections open as one may have; close some, or raise connections_per_user of limits")
    case .tooManyRequests:
      RefusalRow(
        429, "too-many-requests", "http_request_denied",
        "This user has as many requests under way as one may have; wait for some, or raise requests_per_user of limits")
    case .badPath:
      RefusalRow(400, "bad-path", "http_request_error", "The path of the request-target is not valid")
    case .badEscape:
      RefusalRow(400, "bad-escape", "http_request_error", "The path has a broken percent-escape")
    case .dotSegment:
      RefusalRow(
        400, "dot-segment", "http_request_error",
        "The path has a .. segment, or one of dots that are escaped or have parameters")
    case .forbiddenCharacter:
      RefusalRow(
        400, "forbidden-character", "http_request_error",
        "The request-target has a character that may not stand there, as a backslash, or the escape of one")
    case .fragment:
      RefusalRow(400, "fragment", "http_request_error", "The request-target has a fragment")
    case .ambiguousPath:
      RefusalRow(
        400, "ambiguous-path", "http_request_denied",
        "The path can be read in several ways, and the rules decide them differently")
    case .clientCredentialField:
      RefusalRow(
        400, "client-credential-field", "http_request_denied",
        "The request carries a credential of its own that on_client_header does not let through here")
    case .badDestination:
      RefusalRow(
        400, "bad-destination", "http_request_error",
        "The Destination field, or a tag of the If field, cannot be read as a place of this service")
    case .destinationDenied:
      RefusalRow(
        403, "destination-denied", "http_request_denied",
        "The Destination field, or a tag of the If field, leads out of this service, or to where its rules do not let this request go"
      )
    case .formTooLarge:
      RefusalRow(
        413, "form-too-large", "http_request_error",
        "The parameters of the form are signed together with the request, and there are more than 64 KiB of them")
    case .noRule:
      RefusalRow(
        403, "no-rule", "http_request_denied",
        "No rule of this service allows this request; bearerctl explain shows why each one did not match")
    case .denied:
      RefusalRow(
        403, "denied", "http_request_denied",
        "A rule of this service denies this request; bearerctl explain shows which one")
    case .noService:
      RefusalRow(
        404, "no-service", "http_request_denied",
        "No service stands at this path; services are found by what their at says, such as /github/")
    case .rateLimited:
      RefusalRow(
        429, "rate-limited", "http_request_denied",
        "This caller has asked as often as the rate of the service or the rule allows; nothing was sent")
    case .credentialUnavailable:
      RefusalRow(
        503, "credential-unavailable", "proxy_configuration_error",
        "The credential is not available; nothing was sent. The log of bearerd says why")
    case .tokenUnavailable:
      RefusalRow(
        503, "token-unavailable", "proxy_configuration_error",
        "The credential's token endpoint gave no token; nothing was sent. bearerctl status says why")
    case .loginRequired:
      RefusalRow(
        503, "login-required", "proxy_configuration_error",
        "Somebody has to log in before anything can go out with this credential; nothing was sent")
    case .loggedOut:
      RefusalRow(
        503, "logged-out", "http_request_denied",
        "Somebody logged the credential out while this request was under way; the upstream may have carried it out")
    case .credentialSuspended:
      RefusalRow(
        503, "credential-suspended", "http_request_denied",
        "The upstream kept rejecting the credential, so it is suspended; nothing was sent")
    case .grantDenied:
      RefusalRow(
        503, "grant-denied", "http_request_denied", "The credential is not granted to this upstream; nothing was sent")
    case .nameNotFound:
      RefusalRow(502, "name-not-found", "dns_error", "The upstream's name could not be resolved")
    case .nameLookupFailed:
      RefusalRow(502, "name-lookup-failed", "dns_error", "The upstream's name could not be looked up")
    case .nameTimeout:
      RefusalRow(504, "name-timeout", "dns_timeout", "The upstream's name could not be resolved in time")
    case .addressForbidden:
      RefusalRow(
        502, "address-forbidden", "destination_ip_prohibited",
        "The upstream's name resolves to an address that it may not have (see allow_addresses)")
    case .connectionRefused:
      RefusalRow(502, "connection-refused", "connection_refused", "The upstream refused the connection")
    case .connectionFailed:
      RefusalRow(502, "connection-failed", "destination_unavailable", "The upstream could not be reached")
    case .connectionTimeout:
      RefusalRow(504, "connection-timeout", "connection_timeout", "The upstream did not accept a connection in time")
    case .handshakeFailed:
      RefusalRow(502, "tls-handshake-failed", "tls_protocol_error", "The TLS handshake with the upstream failed")
    case .handshakeTimeout:
      RefusalRow(
        504, "handshake-timeout", "connection_timeout", "The upstream did not finish its TLS handshake in time")
    case .certificateInvalid:
      RefusalRow(
        502, "certificate-invalid", "tls_certificate_error",
        "The upstream's certificate is not trusted; nothing was sent")
    case .certificateExpired:
      RefusalRow(
        502, "certificate-expired", "tls_certificate_error",
        "The upstream's certificate is expired or not valid yet; nothing was sent")
    case .hostnameMismatch:
      RefusalRow(
        502, "hostname-mismatch", "tls_certificate_error",
        "The upstream's certificate is for another name; nothing was sent")
    case .pinMismatch:
      RefusalRow(
        502, "pin-mismatch", "tls_certificate_error",
        "No key of the upstream's verified chain is pinned; nothing was sent")
    case .pinsExpired:
      RefusalRow(
        502, "pins-expired", "tls_certificate_error", "The pins of this service have expired; nothing was sent")
    case .upstreamClosed:
      RefusalRow(
        502, "upstream-closed", "connection_terminated", "The upstream closed the connection before it had answered")
    case .upstreamMalformed:
      RefusalRow(502, "upstream-malformed", "http_protocol_error", "The upstream's answer is not valid HTTP")
    case .upstreamTimeout:
      RefusalRow(504, "upstream-timeout", "http_response_timeout", "The upstream did not answer in time")
    case .credentialRejected:
      RefusalRow(
        502, "credential-rejected", "proxy_configuration_error",
        "The upstream rejected the credential that bearerd added")
    case .encodedAnswer:
      RefusalRow(
        502, "encoded-answer", "http_protocol_error",
        "The upstream's answer is coded so that it cannot be searched for the credential")
    case .redirectToSelf:
      RefusalRow(
        502, "redirect-to-self", "proxy_loop_detected", "The upstream's answer points to a listener of bearerd itself")
    case .unrequestedUpgrade:
      RefusalRow(
        502, "unrequested-upgrade", "http_protocol_error", "The upstream switched protocols without being asked")
    case .tooManyInformational:
      RefusalRow(502, "too-many-informational", "http_protocol_error", "The upstream sent too many interim answers")
    case .draining:
      RefusalRow(503, "draining", "connection_limit_reached", "bearerd is shutting down")
    case .auditUnavailable:
      RefusalRow(
        503, "audit-unavailable", "proxy_internal_error",
        "No record of this request could be kept, and audit says required; nothing was sent")
    case .internalError:
      RefusalRow(500, "internal-error", "proxy_internal_error", "bearerd could not go on")
    }
  }
}
