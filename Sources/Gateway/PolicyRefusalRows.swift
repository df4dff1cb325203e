package import Policy

extension PolicyRefusal {
  /// The row of the table for a "no" of policy.
  package var row: RefusalRow {
    switch self {
    case .callerUnknown:
      RefusalRow(
        403, "caller-unknown", "http_request_denied",
        "The system could not say which user is asking; connect again, from this machine")
    case .callerNotAllowed, .callerNotAllowedHere, .callerNotGranted:
      RefusalRow(
        403, "caller-not-allowed", "http_request_denied",
        "This user may not ask here; allow_users says who may, and the log of bearerd names the line to add")
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
    case .originNotAllowed:
      RefusalRow(
        403, "origin-not-allowed", "http_request_denied",
        "The request has an Origin field, so a web page sent it, and web pages may not use credentials; ask from a program"
      )
    case .crossSite:
      RefusalRow(
        403, "cross-site", "http_request_denied",
        "The request has a Sec-Fetch-Site field, so a web page sent it, and web pages may not use credentials")
    case .methodNotSupported:
      RefusalRow(405, "method-not-supported", "http_request_denied", "TRACE, TRACK and CONNECT do not pass here")
    case .badPath: RefusalRow(400, "bad-path", "http_request_error", "The path of the request-target is not valid")
    case .dotSegment:
      RefusalRow(
        400, "dot-segment", "http_request_error", "The path has a dot segment, or could be read as having one")
    case .forbiddenCharacter:
      RefusalRow(
        400, "forbidden-character", "http_request_error",
        "The request-target has a backslash, a control character or a byte outside ASCII")
    case .badEscape: RefusalRow(400, "bad-escape", "http_request_error", "The path has a broken percent-escape")
    case .fragment: RefusalRow(400, "fragment", "http_request_error", "The request-target has a fragment")
    case .ambiguousPath:
      RefusalRow(
        400, "ambiguous-path", "http_request_denied",
        "The path can be read in several ways, and the rules decide them differently")
    case .noService:
      RefusalRow(
        404, "no-service", "http_request_denied",
        "No service stands at this path; services are found by what their at says, such as /github/")
    case .noRule:
      RefusalRow(
        403, "no-rule", "http_request_denied",
        "No rule of this service allows this request; bearerctl explain shows why each one did not match")
    case .denied:
      RefusalRow(
        403, "denied", "http_request_denied",
        "A rule of this service denies this request; bearerctl explain shows which one")
    }
  }
}
