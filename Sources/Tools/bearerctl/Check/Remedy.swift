internal import Console
internal import Settings
internal import Loading
internal import Gateway
internal import Policy
internal import System

/// Suggests how to change the configuration or the request after bearerd refused the request.
struct Remedy {
  let settings: DaemonSettings
  let listener: ListenerSettings
  let caller: Caller
  let method: String
  let host: String
  let origin: PageOrigin?
  /// The normalized path of the request.
  let path: String

  /// Returns the suggestion; `nil` if no change helps.
  func text(_ refusal: Refusal) -> String? {
    switch refusal {
    case .policy(let refusal): text(refusal)
    case .plain(.clientCredentialField):
      wrapped(
        "Remove the field from the program's requests, or set on_client_header: replace in the rule or its service.")
    case .plain(.reservedFieldInConnection): "Remove the field's name from the Connection field of the request."
    case .plain(.destinationDenied):
      wrapped(
        "Allow \(method) at the destination with the same credential, or use a destination in the same service."
      )
    case .plain(.grantDenied): "To let \(user) use the credential, add the user to allow_users of the credential."
    // No change of the file helps, or `explain` never reports this refusal.
    default: nil
    }
  }

  private func text(_ refusal: PolicyRefusal) -> String? {
    switch refusal {
    case .callerNotAllowed(let uid):
      return line(
        "To let \(user) send requests, \(listener.admission) needs",
        AllowUsers.line(adding: uid, to: listener.callers, named: Users.name(ofUID:)))
    case .clientTokenMissing, .clientTokenMalformed, .clientTokenUnknown:
      let names = listener.clients.map(\.name).joined(separator: ", ")
      return wrapped(
        "\(refusal == .clientTokenMalformed ? "The request has a key that is not a client token. " : "")A request to this listener needs the token of a client in \(listener.admission).clients: \(names). To see the decision for a client, add --client NAME."
      )
    case .clientNotAllowedHere(let service):
      return "To let this client use the service, add the client to allow_clients of services.\(name(service))."
    case .clientNotGranted(_, let grant):
      return
        "To let this client use the credential, add the client to allow_clients of credentials.\(settings.rules.grants[grant].name)."
    case .callerNotAllowedHere(_, nil), .callerNotGranted(_, _, nil):
      return wrapped(
        "A caller from the network is not a user of this machine. Use allow_clients instead of allow_users.")
    case .callerNotAllowedHere(let service, let uid?):
      return line(
        "To let \(user) use the service, services.\(name(service)) needs",
        AllowUsers.line(adding: uid, to: settings.rules.services[service].callers, named: Users.name(ofUID:)))
    case .callerNotGranted(_, let grant, let uid?):
      return line(
        "To let \(user) use the credential, credentials.\(settings.rules.grants[grant].name) needs",
        AllowUsers.line(adding: uid, to: settings.rules.grants[grant].callers, named: Users.name(ofUID:)))
    case .hostNotAllowed:
      guard let host = hostWithPort else { return nil }
      return line("If this name is correct, add to \(listener.admission)", "hosts: [\"\(host)\"]")
    case .noService:
      return wrapped(services)
    case .noRule(let service):
      return line(
        "To allow this request, add to services.\(name(service)).rules",
        "- { match: \"\(path(below: service))\", methods: [\(method.harmless)] }")
    case .denied(let service, let rule):
      let ruleLine = settings.rules.services[service].rules.flatMap { $0.indices.contains(rule) ? $0[rule].line : nil }
      return line(
        "To allow this request, add above line \(ruleLine ?? 0)",
        "- { match: \"\(path(below: service))\", methods: [\(method.harmless)] }")
    case .ambiguousPath:
      return wrapped(
        "Write rules that decide the same for each possible meaning of the path, or remove %2F, %5C, // and ; from the path."
      )
    case .originNotAllowed:
      guard let origin else { return "This origin cannot be allowed. Credentials are for programs." }
      return line("To let this page send requests, \(listener.admission) needs", listener.pages.line(adding: origin))
    case .crossSite:
      return wrapped(
        "Let the page send its Origin (with fetch, or with crossorigin on an <img>), and allow that origin.")
    case .siteUnknown:
      return wrapped(
        "In a browser, use localhost, 127.0.0.1 or a name that ends in .localhost. In a program, send another User-Agent."
          + " Or configure clients in \(listener.admission).")
    case .callerUnknown, .authorityMismatch, .methodNotSupported, .badPath, .dotSegment, .forbiddenCharacter,
      .badEscape, .fragment:
      return nil
    }
  }

  private var services: String {
    let all = settings.rules.services.map { (service: $0, listener: settings.listeners[$0.listener]) }
    let here = all.filter { $0.listener.name == listener.name }
      .map { "\($0.service.name) (\($0.service.mount.location))" }
    let elsewhere = all.filter { $0.listener.name != listener.name }
      .map { "\($0.service.name) (on listener \($0.listener.name), at \($0.listener.addressList))" }
    var text = "Listener \(listener.name) has no services."
    if !here.isEmpty {
      text =
        "The services of listener \(listener.name): \(here.joined(separator: ", "))."
        + " A path must begin with its service's path, including the slash at the end."
    }
    if !elsewhere.isEmpty { text += " Other services: \(elsewhere.joined(separator: ", "))." }
    return text
  }

  private func line(_ what: String, _ line: String) -> String { "\(what):\n\n    \(line)" }

  /// The request's host as an entry of the `hosts` key; `nil` if the host cannot be an entry.
  private var hostWithPort: String? {
    let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"\\,@/".utf8.contains($0) }
    guard isPlain, !host.isEmpty else { return nil }
    let hasPort = host.drop { host.hasPrefix("[") && $0 != "]" }.contains(":")
    return hasPort ? host : "\(host):\(RequestURL.defaultPort)"
  }

  /// The caller as part of a sentence, such as `user "NAME"`.
  private var user: String {
    caller.uid.map { uid in Users.name(ofUID: uid).map { "user \"\($0.harmless)\"" } ?? "user \(uid)" } ?? "it"
  }

  private func name(_ service: Int) -> String { settings.rules.services[service].name }

  /// Returns the path below the service's mount, as a rule pattern that matches only this path.
  private func path(below service: Int) -> String {
    if path.isEmpty { return "*" }
    let start =
      switch settings.rules.services[service].mount {
      case .path(let mount): mount.count - 1
      case .host, .whole: 0
      }
    return path.dropFirst(start).map { $0 == "*" ? "%2A" : String($0) }.joined()
  }
}

extension Mount {
  fileprivate var location: String {
    switch self {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host(let name): name
    case .whole: "its own port"
    }
  }
}
