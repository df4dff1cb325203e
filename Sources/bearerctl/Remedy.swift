internal import Configuration
internal import Gateway
internal import Policy
internal import System

extension Refusal {
  /// What would have to change, where something could; nil: the request itself is not acceptable.
  func remedy(in settings: Settings, listener: ListenerSettings, caller: Caller) -> String? {
    switch self {
    case .policy(let refusal): refusal.remedy(in: settings, listener: listener, caller: caller)
    case .clientCredentialField:
      "Let the program send no such field, or say on_client_header: replace in the rule or its service."
    case .reservedFieldInConnection: "Take the field's name out of the request's Connection field."
    case .malformed: "The request is not valid HTTP/1.1; nothing in the configuration can change that."
    case .requestTimeout, .draining, .credentialUnavailable, .grantDenied, .nameNotFound, .nameTimeout,
      .addressForbidden, .connectionRefused, .connectionFailed, .connectionTimeout, .handshakeTimeout,
      .handshakeFailed, .certificateInvalid, .certificateExpired, .hostnameMismatch, .pinMismatch, .pinsExpired,
      .internalError, .upstreamClosed, .upstreamMalformed, .upstreamTimeout, .credentialRejected, .redirectToSelf,
      .unrequestedUpgrade, .tooManyInformational:
      nil  // only a request that is really sent meets these
    }
  }
}

extension PolicyRefusal {
  fileprivate func remedy(in settings: Settings, listener: ListenerSettings, caller: Caller) -> String? {
    let name = Users.name(ofUID: caller.uid) ?? String(caller.uid)
    switch self {
    case .callerNotAllowed: return "To let \(name) ask, add to listeners.\(listener.name): allow_users: [\(name)]"
    case .callerNotAllowedHere(let service, _):
      return "To let \(name) ask, add to services.\(settings.rules.services[service].name): allow_users: [\(name)]"
    case .hostNotAllowed:
      let names = listener.ports.isEmpty ? "" : " It answers to \(listener.place)."
      return "To answer to this name, add to listeners.\(listener.name): hosts: [NAME:PORT].\(names)"
    case .noService:
      let known = settings.rules.services.map { "\($0.name) (\($0.mount.place))" }.joined(separator: ", ")
      return "The services of this file: \(known). A path mount needs its closing slash."
    case .noRule(let service):
      return
        "To allow it, add a rule that matches its method and path to services.\(settings.rules.services[service].name).rules."
    case .denied(let service, let rule):
      let line = settings.rules.services[service].rules.flatMap { $0.indices.contains(rule) ? $0[rule].line : nil }
      return
        "To allow it, put a narrower rule before rule \(rule + 1)\(line.map { " (\(settings.file):\($0))" } ?? "")."
    case .ambiguousPath:
      return
        "Let the rules decide all readings in the same way, or let the program write the path plainly (no %2F, //, or ;)."
    case .originNotAllowed, .crossSite: return "Credentials are for programs; a web page may not use them."
    case .callerUnknown, .authorityMismatch, .methodNotSupported, .badPath, .dotSegment, .forbiddenCharacter,
      .badEscape,
      .fragment:
      return nil
    }
  }
}

extension Mount {
  fileprivate var place: String {
    switch self {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host(let name): name
    case .whole: "a port of its own"
    }
  }
}
