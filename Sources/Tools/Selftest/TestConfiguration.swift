internal import Configuration
internal import Policy

/// A test copy of the user's configuration, with upstreams, secrets, ports and users of the test.
struct TestConfiguration {
  let tree: ConfigurationTree
  /// The user who runs the test.
  var uid: UInt32
  /// Maps each origin in the user's file to the origin of its embedded upstream.
  var origins: [Origin: Origin]
  /// The origin for a credential that no service uses with one of its origins.
  let unusedOrigin: Origin
  let directory: String
  var pins: [String]
  /// Path of the file with the trusted certificate authorities; `nil` for the system's authorities.
  var authority: String? = "ca.pem"
  /// The rate that replaces every rate in the user's file.
  var rate = "1000000/s"
  var control = "control.sock"
  var number = 0
  /// The `server_name` of some embedded upstreams, by their origin.
  var serverNames: [Origin: HostName] = [:]
  /// Path of the file that replaces every `crl_file` of a service; `nil` to remove `revocation`.
  var revocationList: String?
  /// A change to apply after all other replacements.
  var edit: @Sendable (inout ConfigurationTree) -> Void = { _ in }

  var text: String {
    var derived = tree
    let listeners = tree["listeners"] ?? .mapping([.init("main", .mapping([]))])
    derived["listeners"] = listeners.mapValues { name, listener in self.listener(listener, isMain: name == "main") }
    derived["metrics"] = tree["metrics"].map { listener($0, isMain: false) }
    derived["credentials"] = tree["credentials"]?.mapValues { name, credential in self.credential(credential, name) }
    derived["services"] = tree["services"]?.mapValues { _, service in self.service(service) }
    derived["pin_policies"] = tree["pin_policies"]?.mapValues { _, policy in self.policy(policy) }
    derived["control"] = .text(control)
    // Attacks must not appear in the user's audit file.
    derived["audit"] = tree["audit"]?.setting("file", to: .text("audit-\(number).log"))
    edit(&derived)
    return derived.yaml
  }

  // MARK: callers

  private func listener(_ listener: ConfigurationTree, isMain: Bool) -> ConfigurationTree {
    var derived = listener
    if let address = listener["address"] {
      derived["address"] = distinct(address.mapElements(self.address))
    } else if isMain {
      derived["address"] = .text("localhost:0")
    }
    return allowingTestUser(derived)
  }

  private func allowingTestUser(_ entry: ConfigurationTree) -> ConfigurationTree {
    // The test has no client tokens, and cannot act as another user.
    var derived = entry
    for key in ["allow_groups", "allow_clients", "clients"] { derived[key] = nil }
    derived["allow_users"] = .words("\(uid)")
    return derived
  }

  /// Replaces a listener's address with a free local port, or with a socket in the test directory.
  private func address(_ address: ConfigurationTree) -> ConfigurationTree {
    guard case .scalar(let text, _) = address else { return address }
    if text.hasPrefix("unix:") {
      return .text("unix:\(directory)/\(TestConfiguration.name(of: "\(text) \(number)")).sock")
    }
    let host = text.lastIndex(of: ":").map { String(text[..<$0]) } ?? ""
    let isLoopback = host.hasPrefix("127.") || host == "[::1]"
    return .text((isLoopback ? host : "localhost") + ":0")
  }

  private func distinct(_ addresses: ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = addresses else { return addresses }
    var seen: [ConfigurationTree] = []
    for element in elements where !seen.contains(element) { seen.append(element) }
    return .sequence(seen)
  }

  private func allowingTestUserIfRestricted(_ entry: ConfigurationTree) -> ConfigurationTree {
    let isRestricted = ["allow_users", "allow_groups", "allow_clients"].contains { entry[$0] != nil }
    return isRestricted ? allowingTestUser(entry) : entry
  }

  // MARK: credentials

  private func credential(_ credential: ConfigurationTree, _ name: String) -> ConfigurationTree {
    var derived = allowingTestUserIfRestricted(credential)
    derived["origins"] = credential["origins"].map(self.origins)
    // In some attacks the upstream rejects the credential. A suspension would stop the later attacks.
    derived["suspend"] = .text("off")
    // A secret file replaces the token of a token endpoint: the test contacts no endpoint.
    let granted = credential["oauth2"] ?? credential["registry"] ?? credential["login"]
    derived["bearer"] = (credential["bearer"] ?? granted).map { secret($0, name, 0) }
    (derived["oauth2"], derived["registry"], derived["login"]) = (nil, nil, nil)
    derived["basic"] = (credential["basic"] ?? credential["digest"]).map { basic in
      var derived = basic.mapValues { key, value in secret(value, name, key == "user" ? 1 : 0) }
      // A helper program would have provided the user name.
      if basic["user"] == nil { derived["user"] = .text("somebody") }
      derived["algorithms"] = nil
      derived["replay_buffer"] = nil
      return derived
    }
    // Every request must have the credential immediately, without a challenge.
    for key in ["digest", "mode", "replay_buffer"] { derived[key] = nil }
    // The embedded upstreams request no client certificate. A field replaces it if the credential has nothing else.
    derived["client_certificate"] = nil
    for (kind, field) in [("query", "X-Stand-In-Parameter"), ("oauth1", "Authorization")] where credential[kind] != nil
    {
      derived[kind] = nil
      derived["headers"] = header(field, of: name)
    }
    let schemes = ["bearer", "oauth2", "login", "basic", "headers", "query", "oauth1", "digest", "registry"]
    if credential["client_certificate"] != nil, schemes.allSatisfy({ credential[$0] == nil }) {
      derived["headers"] = header("X-Stand-In-Certificate", of: name)
    }
    if case .sequence(let headers) = credential["headers"] {
      derived["headers"] = .sequence(
        headers.enumerated().map { index, header in
          header.setting("value", to: header["value"].map { secret($0, name, index) })
        })
    }
    return derived
  }

  private func header(_ field: String, of credential: String) -> ConfigurationTree {
    .sequence([.mapping([.init("name", .text(field)), .init("value", secret(.mapping([]), credential, 0))])])
  }

  private func origins(_ list: ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = list else { return list }
    var known: [Origin] = []
    for case .scalar(let text, _) in elements {
      let origin = try? Origin(parsing: text)
      if let standIn = origin.flatMap({ origins[$0] }).map(named), !known.contains(standIn) { known.append(standIn) }
    }
    return .sequence((known.isEmpty ? [unusedOrigin] : known).map { .text($0.description) })
  }

  /// Returns the origin of an embedded upstream with its `server_name`.
  private func named(_ standIn: Origin) -> Origin {
    serverNames[standIn].map { Origin(scheme: standIn.scheme, host: $0, port: standIn.port) } ?? standIn
  }

  /// Replaces a secret source with a file of the test.
  private func secret(_ value: ConfigurationTree, _ credential: String, _ index: Int) -> ConfigurationTree {
    value.isMapping ? .mapping([.init("file", .text(TestConfiguration.secretFile(credential, index)))]) : value
  }

  static func secretFile(_ credential: String, _ index: Int) -> String { "\(name(of: credential))-\(index).secret" }

  // MARK: services

  private func service(_ service: ConfigurationTree) -> ConfigurationTree {
    var derived = allowingTestUserIfRestricted(service)
    var isPlain = false
    if let upstream = Self.upstream(of: service), let origin = origins[upstream.origin] {
      isPlain = origin.scheme == .http
      derived["upstream"] = .text("\(origin)\(String(decoding: upstream.basePath, as: UTF8.self))")
      // The embedded upstream's certificate is for the host in its origin, except in some attacks.
      derived["server_name"] = serverNames[origin].map { .text($0.description) }
    }
    if case .scalar(let text, _) = service["at"], text.contains(":") {
      derived["at"] = address(.text(text))
    }
    // The date is for the user's pins, not for the pins of the test.
    derived["pins_expire"] = nil
    // The lists are for the user's authorities, and the test's upstreams send no OCSP responses, except in an attack.
    derived["revocation"] = service["revocation"].flatMap(revocation)
    // The embedded upstreams speak only HTTP/1.1.
    derived["protocol"] = nil
    // Each attack sends one request, and some let the upstream fail.
    derived["retry"] = nil
    derived["pins"] = service["pins"].map(testPins)
    derived["ca_file"] = isPlain ? nil : authority.map { .text($0) }
    derived["rules"] = service["rules"]?.mapElements(withTestRate)
    return withTestRate(derived)
  }

  private func revocation(_ checks: ConfigurationTree) -> ConfigurationTree? {
    guard let revocationList else { return nil }
    return checks["crl_file"] == nil ? checks : checks.setting("crl_file", to: .text(revocationList))
  }

  /// Replaces the pins of a service or policy with the same number of pins of the test, at most all of them.
  private func testPins(_ old: ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = old else { return old }
    return .sequence(pins.prefix(max(1, min(elements.count, pins.count))).map { .text($0) })
  }

  /// Replaces the pins of a policy. The policy applies only to upstreams in `serverNames`, because a policy for
  /// `localhost` is not possible.
  private func policy(_ policy: ConfigurationTree) -> ConfigurationTree {
    policy.setting("pins", to: policy["pins"].map(testPins)).setting("expires", to: nil)
  }

  /// The user's `pin_policies`, without their pins.
  var policies: PinPolicies {
    var policies = PinPolicies()
    guard case .mapping(let entries)? = tree["pin_policies"] else { return policies }
    for entry in entries {
      guard case .name(let name)? = try? HostName(parsing: entry.key) else { continue }
      var pinning = PinPolicy()
      if entry.value.has("pin_mode", "report") { pinning.mode = .report }
      _ = policies.insert(
        entry.value.has("exclude", "true")
          ? .excluded : .pinned(pinning, includesSubdomains: entry.value.has("include_subdomains", "true")),
        for: name)
    }
    return policies
  }

  /// The host of the service in the user's file, to which `pin_policies` may apply; `nil` if the service has own pins.
  func policyHost(of name: String) -> HostName? {
    guard let service = tree["services"]?[name], service["pins"] == nil else { return nil }
    return Self.upstream(of: service)?.origin.host
  }

  private static func upstream(of service: ConfigurationTree) -> Upstream? {
    guard case .scalar(let text, _) = service["upstream"], var upstream = try? Upstream(parsing: text) else {
      return nil
    }
    if case .scalar(let text, _) = service["server_name"], let name = try? HostName(parsing: text) {
      upstream.setServerName(name)
    }
    return upstream
  }

  /// Replaces the rate of a service or rule with the test's rate.
  private func withTestRate(_ entry: ConfigurationTree) -> ConfigurationTree {
    // The rate cannot be removed. If two readings of a path match different rules, bearerd also compares their rates.
    guard case .scalar(let text, _) = entry["rate"], text != "none" else { return entry }
    return entry.setting("rate", to: .text(rate))
  }

  private static func name(of text: String) -> String {
    // A short name: the FNV-1a hash, which protects no secret.
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}

extension ConfigurationTree {
  /// Sets the value at a path of nested keys; `nil` removes the key.
  mutating func set(_ keys: String..., to value: ConfigurationTree?) { set(keys[...], value) }

  private mutating func set(_ keys: ArraySlice<String>, _ value: ConfigurationTree?) {
    guard let key = keys.first else { return }
    if keys.count == 1 {
      self[key] = value
      return
    }
    var inner = self[key].flatMap { $0.isMapping ? $0 : nil } ?? .mapping([])
    inner.set(keys.dropFirst(), value)
    self[key] = inner
  }

  func setting(_ key: String, to value: ConfigurationTree?) -> Self {
    var changed = self
    changed[key] = value
    return changed
  }

  /// Whether the key has this text as its value.
  func has(_ key: String, _ value: String) -> Bool {
    if case .scalar(value, _)? = self[key] { true } else { false }
  }

  static func words(_ words: String...) -> Self { .sequence(words.map { .text($0) }) }
}
