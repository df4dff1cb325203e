package import Policy

extension PolicyRefusal {
  /// The row of the table for a "no" of policy.
  package var row: RefusalRow {
    switch self {
    case .callerUnknown:
      RefusalRow(403, "caller-unknown", "http_request_denied", "The system could not say who is asking")
    case .callerNotAllowed, .callerNotAllowedHere:
      RefusalRow(
        403, "caller-not-allowed", "http_request_denied",
        "This user may not ask here; the log of bearerd names the line to add")
    case .hostNotAllowed:
      RefusalRow(
        421, "host-not-allowed", "http_request_denied", "The Host field does not name this listener (see hosts)")
    case .authorityMismatch:
      RefusalRow(
        421, "authority-mismatch", "http_request_denied",
        "The request-target names another authority than this listener")
    case .originNotAllowed:
      RefusalRow(
        403, "origin-not-allowed", "http_request_denied",
        "The request comes from a web page, and web pages may not ask here")
    case .crossSite:
      RefusalRow(
        403, "cross-site", "http_request_denied", "The request comes from a web page, and web pages may not ask here")
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
    case .noService: RefusalRow(404, "no-service", "http_request_denied", "No service is configured for this path")
    case .noRule: RefusalRow(403, "no-rule", "http_request_denied", "No rule of this service allows this request")
    case .denied: RefusalRow(403, "denied", "http_request_denied", "A rule of this service denies this request")
    }
  }
}
