@testable import Configuration
import Policy
import Settings

/// All settings that differ from their defaults, as text for the golden files.
struct SettingsSummary: CustomStringConvertible {
  let description: String

  init(_ settings: DaemonSettings) {
    var lines: [String] = []
    for listener in settings.listeners {
      let addresses = listener.addresses.map(Self.address).joined(separator: " ")
      let names = listener.extraAuthorities.isEmpty ? "" : " names \(listener.extraAuthorities.joined(separator: " "))"
      lines.append("listener \(listener.name): \(addresses) callers \(Self.uids(listener.callers))\(names)")
      for page in listener.pages.origins { lines.append("  pages of \(page)") }
      for client in listener.clients {
        lines.append("  client \(client.name): \(client.digests.map(\.description).joined(separator: " "))")
      }
    }
    for (credential, grant) in zip(settings.credentials, settings.rules.grants) {
      let origins = grant.origins.map(\.description).joined(separator: " ")
      let callers = grant.callers.map { " callers \(Self.uids($0))" } ?? ""
      lines.append(
        "credential \(credential.name) (line \(credential.line)): \(Self.scheme(credential.scheme, grant))\(Self.certificate(credential.certificate, grant)) to \(origins) sets \(grant.fieldNames)\(Self.mode(grant))\(callers)\(Self.suspension(credential))"
      )
    }
    for service in settings.rules.services { lines += Self.service(service, settings) }
    lines += Self.changes(in: settings.limits, from: Limits(), "limits")
    if settings.requireLockedMemory { lines.append("memory is locked") }
    if let control = settings.controlSocket { lines.append("control \(control)") }
    if let index = settings.metricsListener { lines.append("metrics on listener \(settings.listeners[index].name)") }
    if let audit = settings.audit { lines.append("audit \(audit.file)\(audit.isRequired ? " is required" : "")") }
    if settings.workers != .fixed(1) { lines.append("workers \(settings.workers)") }
    description = lines.joined(separator: "\n")
  }

  private static func certificate(_ certificate: CredentialSettings.ClientCertificate?, _ grant: Grant) -> String {
    guard let certificate else { return "" }
    return " with \(certificate.file) and "
      + [certificate.key, certificate.passphrase].compactMap(\.self).map { text($0, grant) }
      .joined(separator: " and ")
  }

  private static func service(_ service: Service, _ settings: DaemonSettings) -> [String] {
    let mount =
      switch service.mount {
      case .path(let path): String(decoding: path, as: UTF8.self)
      case .host(let host): host
      case .whole: "(whole)"
      }
    let base = String(decoding: service.upstream.basePath, as: UTF8.self)
    let listener = settings.listeners[service.listener].name
    var lines = [
      "service \(service.name): \(listener) \(mount) -> \(service.upstream.origin)\(base) credential \(choice(service.credential, settings))"
    ]
    func add(_ text: String) { lines.append("  \(text)") }
    if let host = service.upstream.dialHost { add("connects to \(host):\(service.upstream.origin.port)") }
    if !service.upstream.allowedAddresses.isEmpty { add("\(service.upstream.allowedAddresses.count) address blocks") }
    if let callers = service.callers { add("callers \(uids(callers))") }
    let pinning = service.trust.pinning
    if !pinning.pins.isEmpty {
      add("\(pinning.mode) \(pinning.pins.map(\.description))\(pinning.expires.map { " until \($0)" } ?? "")")
      if let policy = pinning.policy { add("pins of \(policy)") }
    }
    if let file = service.trust.caFile { add("trusts \(file)") }
    if let revocation = service.trust.revocation {
      add("revocation lists \(revocation.listFile ?? "none") stapling \(revocation.stapling?.rawValue ?? "none")")
    }
    if service.headers != HeaderPolicy() { add(headers(service.headers)) }
    lines += changes(in: service.options, from: ServiceOptions(), "  options")
    lines += changes(in: service.timeouts, from: Timeouts(), "  timeouts")
    if let rate = service.rate { add("rate \(rate)") }
    if let retry = service.retry {
      add("retry \(retry.listed) attempts \(retry.attempts) at_most \(retry.atMost) buffer \(retry.replayBuffer)")
    }
    if service.upgrades != [.websocket] { add("upgrades \(service.upgrades.map(\.text))") }
    for rule in service.rules ?? [] {
      let methods = rule.methods.names.isEmpty ? "*" : rule.methods.names.joined(separator: ",")
      let action: String =
        switch rule.action {
        case .deny: rule.pattern.ignoresCase ? "deny" : "deny exact"
        case .forward(let credential): choice(credential, settings)
        }
      let changed = rule.headers == service.headers ? "" : " " + headers(rule.headers)
      let rate: String =
        switch rule.rate {
        case .inherited: ""
        case .none: " rate none"
        case .own(let rate): " rate \(rate)"
        }
      add(
        "line \(rule.line): \(methods) \(rule.pattern.text) \(action)\(changed)\(rate)\(rule.description.map { " (\($0))" } ?? "")"
      )
    }
    if service.rules == [] { add("no rules") }
    return lines
  }

  private static func headers(_ policy: HeaderPolicy) -> String {
    var parts: [String] = []
    if !policy.set.isEmpty {
      parts.append(
        "set " + policy.set.map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }.joined(separator: "; "))
    }
    if !policy.remove.isEmpty { parts.append("remove \(policy.remove)") }
    if !policy.removeParameters.isEmpty { parts.append("remove from queries \(policy.removeParameters)") }
    if !policy.allowClientHeaders.isEmpty { parts.append("allow \(policy.allowClientHeaders)") }
    if policy.onClientHeader != .replace { parts.append("client's: \(policy.onClientHeader)") }
    return parts.joined(separator: " ")
  }

  /// Returns a line with the fields that differ from their defaults, or no line.
  private static func changes(in settings: Any, from defaults: Any, _ name: String) -> [String] {
    let fields = zip(Mirror(reflecting: settings).children, Mirror(reflecting: defaults).children).compactMap {
      "\($0.value)" == "\($1.value)" ? nil : "\($0.label ?? "") \($0.value)"
    }
    return fields.isEmpty ? [] : ["\(name) " + fields.joined(separator: " ")]
  }

  private static func mode(_ grant: Grant) -> String {
    guard case .challenged(let scheme, _) = grant.authRetry else { return "" }
    return
      " after a challenge for \(scheme.rawValue)\(realm(grant)) keeps \(grant.replayBuffer.map { "\($0)" } ?? "nothing")"
  }

  private static func realm(_ grant: Grant) -> String {
    grant.authRetry.realm.map { " of the realm \(String(decoding: $0, as: UTF8.self))" } ?? ""
  }

  private static func suspension(_ credential: CredentialSettings) -> String {
    guard let suspension = credential.suspension else { return " never suspended" }
    return changes(in: suspension, from: Suspension(), " suspended").joined()
  }

  private static func choice(_ choice: CredentialChoice, _ settings: DaemonSettings) -> String {
    switch choice {
    case .inject(let index): settings.credentials[index].name
    case .none: "(none)"
    case .pass: "(pass)"
    }
  }

  private static func scheme(_ scheme: AuthScheme, _ grant: Grant) -> String {
    func text(_ source: SecretSource) -> String { Self.text(source, grant) }
    func value(_ value: FieldValue) -> String { Self.value(value, grant) }
    let kept = grant.replayBuffer ?? 0
    return switch scheme {
    case .bearer(let source): "bearer \(text(source))"
    case .basic(let user, let password): "basic \(value(user)) \(value(password))"
    case .registry(let login, let registry):
      "registry \(registry.endpoint) \((login?.user).map(value) ?? "nobody") \((login?.password).map(text) ?? "-") within \(registry.timeout) keeps \(kept)"
    case .digest(let user, let password, let hashes):
      "digest \(value(user)) \(text(password)) by \(hashes.sorted().map(\.rawValue))\(realm(grant)) keeps \(kept)"
    case .headers(let headers):
      "headers " + headers.map { "\($0.name)=\($0.prefix)\(value($0.value))" }.joined(separator: "; ")
    case .query(let name, let value): "query \(name)=\(text(value))"
    case .oauth1(let client):
      "oauth1 \(client.method.rawValue.lowercased()) \(value(client.consumerKey)) \(client.sources.map(text)) realm \(client.realm ?? "none")"
    case .all(let schemes): schemes.map { Self.scheme($0, grant) }.joined(separator: " and ")
    }
  }

  private static func value(_ value: FieldValue, _ grant: Grant) -> String {
    switch value {
    case .plain(let text): "'\(text)'"
    case .secret(let source): text(source, grant)
    }
  }

  private static func text(_ source: SecretSource, _ grant: Grant) -> String {
    switch source {
    case .file(let path): "file:\(path)"
    case .systemd(let name): "systemd:\(name)"
    case .env(let name): "env:\(name)"
    case .command(let command):
      "command:\(command.path) and \(command.words.count - 1) words, ttl \(command.timeToLive.map { "\($0)" } ?? "none"), timeout \(command.timeout)\(format(command.format))\(command.passedVariables.isEmpty ? "" : ", passes \(command.passedVariables.joined(separator: " "))")"
    case .userOfCommand(let command): "user of \(text(.command(command), grant))"
    case .token(let token):
      if let form = token.form {
        LoginSummary.text(token, form, grant) { text($0, grant) }
      } else {
        "token of \(token.endpoint) by \(token.grantName)\(TokenSummary.text(token, grant) { text($0, grant) })"
      }
    }
  }

  private static func format(_ format: CommandFormat) -> String {
    switch format {
    case .text: ""
    case .execCredential: ", exec-credential"
    case .dockerCredential(let server): ", docker-credential of \(server)"
    case .gitCredential(let description, let stores):
      ", git-credential of \(description.user ?? "anybody") at \(description.host), path \(description.path ?? "any")\(description.acceptsToken ? ", takes tokens" : "")\(stores ? ", stores" : "")"
    }
  }

  private static func address(_ address: ListenerSettings.Address) -> String {
    switch address {
    case .localhost(let port): "localhost:\(port)"
    case .tcp(let address, let port): "\(address)|\(port)"
    case .unix(let path, let mode): "unix:\(path)(\(String(mode, radix: 8)))"
    case .systemd(let name): "systemd:\(name)"
    }
  }

  private static func uids(_ callers: Callers) -> String {
    let uids = callers.uids.map { $0.sorted().map(String.init).joined(separator: ",") }
    let clients = callers.clients.map { "clients " + $0.sorted().joined(separator: ",") }
    return [uids, clients].compactMap { $0 }.joined(separator: " and ")
  }
}
