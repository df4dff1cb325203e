internal import Configuration
internal import Policy

/// Another configuration of the same shape: upstreams, origins, pins, authorities, secrets, ports and users are stand-ins;
/// rules, header policies, limits and whatever else the file says stay as they are. The user's secrets are not opened.
struct TestConfiguration {
  let tree: ConfigurationTree
  /// Who runs the test: the one user who may ask.
  var uid: UInt32
  /// From an origin of the user's file to the one that stands in for it.
  var origins: [Origin: Origin]
  /// The origin in the place of a credential's origins that no service goes to.
  let nowhere: Origin
  /// The directory of its unix sockets.
  let directory: String
  var pins: [String]
  /// nil: the system's.
  var authority: String? = "ca.pem"
  var rate = "1000000/s"
  var control = "control.sock"
  /// The number of the daemon, where there are several.
  var number = 0
  /// The last change of all.
  var edit: @Sendable (inout ConfigurationTree) -> Void = { _ in }

  var text: String {
    var derived = tree
    let listeners = tree["listeners"] ?? .mapping([.init("main", .mapping([]))])
    derived["listeners"] = listeners.mapValues { name, listener in self.listener(listener, isMain: name == "main") }
    derived["metrics"] = tree["metrics"].map { listener($0, isMain: false) }
    derived["credentials"] = tree["credentials"]?.mapValues { name, credential in self.credential(credential, name) }
    derived["services"] = tree["services"]?.mapValues { _, service in self.service(service) }
    derived["control"] = .text(control)
    // Attacks are no requests of the user's.
    derived["audit"] = tree["audit"].map { audit in
      var audit = audit
      audit["file"] = .text("audit-\(number).log")
      return audit
    }
    edit(&derived)
    return derived.yaml
  }

  // MARK: who may ask

  private func listener(_ listener: ConfigurationTree, isMain: Bool) -> ConfigurationTree {
    var derived = listener
    if let address = listener["address"] {
      derived["address"] = distinct(address.mapElements(self.address))
    } else if isMain {
      derived["address"] = .text("localhost:0")
    }
    return admittingMe(derived)
  }

  /// Admits this user in place of users, groups and client tokens, which none but their owners have.
  private func admittingMe(_ entry: ConfigurationTree) -> ConfigurationTree {
    var derived = entry
    for key in ["allow_groups", "allow_clients", "clients"] { derived[key] = nil }
    derived["allow_users"] = onlyMe
    return derived
  }

  /// A free port of the same address; a socket of systemd becomes a port of our own.
  private func address(_ address: ConfigurationTree) -> ConfigurationTree {
    guard case .scalar(let text, _) = address else { return address }
    if text.hasPrefix("unix:") {
      return .text("unix:\(directory)/\(TestConfiguration.name(of: "\(text) \(number)")).sock")
    }
    let host = text.lastIndex(of: ":").map { String(text[..<$0]) } ?? ""
    let isLoopback = host.hasPrefix("127.") || host == "[::1]"
    return .text((isLoopback ? host : "localhost") + ":0")
  }

  /// A list of several ports becomes one free one.
  private func distinct(_ addresses: ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = addresses else { return addresses }
    var seen: [ConfigurationTree] = []
    for element in elements where !seen.contains(element) { seen.append(element) }
    return .sequence(seen)
  }

  private var onlyMe: ConfigurationTree { .sequence([.text("\(uid)")]) }

  private func narrowed(_ entry: ConfigurationTree) -> ConfigurationTree {
    let isNarrowed = ["allow_users", "allow_groups", "allow_clients"].contains { entry[$0] != nil }
    return isNarrowed ? admittingMe(entry) : entry
  }

  // MARK: what is added

  private func credential(_ credential: ConfigurationTree, _ name: String) -> ConfigurationTree {
    var derived = narrowed(credential)
    derived["origins"] = credential["origins"].map(self.origins)
    // Attacks let the upstream reject it; the later ones would not get past that.
    derived["suspend"] = .text("off")
    // A file stands in for what a token endpoint grants: no endpoint is asked here.
    let granted = credential["oauth2"] ?? credential["registry"] ?? credential["login"]
    derived["bearer"] = (credential["bearer"] ?? granted).map { secret($0, name, 0) }
    (derived["oauth2"], derived["registry"], derived["login"]) = (nil, nil, nil)
    derived["basic"] = (credential["basic"] ?? credential["digest"]).map { basic in
      var derived = basic.mapValues { key, value in secret(value, name, key == "user" ? 1 : 0) }
      // A helper program would have said who it is.
      if basic["user"] == nil { derived["user"] = .text("somebody") }
      derived["algorithms"] = nil
      derived["replay_buffer"] = nil
      return derived
    }
    // Each request of ours shows at once what it carries.
    for key in ["digest", "mode", "replay_buffer"] { derived[key] = nil }
    // No upstream of ours asks for one. Where it is all that there is, a field stands in for it.
    derived["client_certificate"] = nil
    for (kind, field) in [("query", "X-Stand-In-Parameter"), ("oauth1", "Authorization")] where credential[kind] != nil
    {
      derived[kind] = nil
      derived["headers"] = .sequence([
        TestConfiguration.placed(field, secretFile: TestConfiguration.secretFile(name, 0))
      ])
    }
    if credential["client_certificate"] != nil,
      !["bearer", "oauth2", "login", "basic", "headers", "query", "oauth1", "digest", "registry"].contains(where: {
        credential[$0] != nil
      })
    {
      derived["headers"] = .sequence([
        TestConfiguration.placed("X-Stand-In-Certificate", secretFile: TestConfiguration.secretFile(name, 0))
      ]
      )
    }
    if case .sequence(let headers) = credential["headers"] {
      derived["headers"] = .sequence(
        headers.enumerated().map { index, header in
          var derived = header
          derived["value"] = header["value"].map { secret($0, name, index) }
          return derived
        })
    }
    return derived
  }

  /// A field in place of what goes out in another way.
  private static func placed(_ field: String, secretFile: String) -> ConfigurationTree {
    .mapping([
      .init("name", .text(field)), .init("value", .mapping([.init("file", .text(secretFile))])),
    ])
  }

  private func origins(_ list: ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = list else { return list }
    var known: [Origin] = []
    for case .scalar(let text, _) in elements {
      let origin = try? Origin(parsing: text)
      if let standIn = origin.flatMap({ origins[$0] }), !known.contains(standIn) { known.append(standIn) }
    }
    return .sequence((known.isEmpty ? [nowhere] : known).map { .text($0.description) })
  }

  /// Plain text stays; a source becomes a file of ours.
  private func secret(_ value: ConfigurationTree, _ credential: String, _ index: Int) -> ConfigurationTree {
    value.isMapping ? .mapping([.init("file", .text(TestConfiguration.secretFile(credential, index)))]) : value
  }

  /// Names of credentials may be longer than those of files.
  static func secretFile(_ credential: String, _ index: Int) -> String { "\(name(of: credential))-\(index).secret" }

  // MARK: where it goes

  private func service(_ service: ConfigurationTree) -> ConfigurationTree {
    var derived = narrowed(service)
    var isPlain = false
    if case .scalar(let text, _) = service["upstream"], let upstream = try? Upstream(parsing: text),
      let origin = origins[upstream.origin]
    {
      isPlain = origin.scheme == .http
      derived["upstream"] = .text("\(origin)\(String(decoding: upstream.basePath, as: UTF8.self))")
    }
    if case .scalar(let text, _) = service["at"], text.contains(":") {
      derived["at"] = address(.text(text))
    }
    // Theirs would be over before ours.
    derived["pins_expire"] = nil
    if case .sequence(let old) = service["pins"] {
      derived["pins"] = .sequence(pins.prefix(max(1, min(old.count, pins.count))).map { .text($0) })
    }
    derived["ca_file"] = isPlain ? nil : authority.map { .text($0) }
    derived["rules"] = service["rules"]?.mapElements(unhurried)
    return unhurried(derived)
  }

  /// Attacks are many requests of one caller. A rate stays one, because where rules differ in theirs a path can be ambiguous.
  private func unhurried(_ entry: ConfigurationTree) -> ConfigurationTree {
    guard case .scalar(let text, _) = entry["rate"], text != "none" else { return entry }
    var derived = entry
    derived["rate"] = .text(rate)
    return derived
  }

  /// Something short that is legal in a file's name and different for different texts.
  private static func name(of text: String) -> String {
    // FNV-1a: stable, and no secret depends on it.
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}

extension ConfigurationTree {
  /// Sets what stands below these keys, and makes the mappings that lead there.
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

  static func words(_ words: String...) -> Self { .sequence(words.map { .text($0) }) }
}
