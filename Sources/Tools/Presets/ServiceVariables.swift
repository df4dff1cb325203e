package import Policy

/// The environment variables that make programs use a service of bearerd.
package struct ServiceVariables: Sendable {
  package struct Variable: Sendable, Equatable {
    package var name: String
    package let value: String
    /// Whether the value is a dummy for the key that programs expect.
    package let isKey: Bool

    package init(name: String, value: String, isKey: Bool) {
      self.name = name
      self.value = value
      self.isKey = isKey
    }
  }

  package let variables: [Variable]
  /// Further advice for the user. May be empty.
  package let notes: String

  /// Chooses the variables of a service by its preset.
  /// - Parameters:
  ///   - authority: The host and port of the listener.
  ///   - written: The preset that the service's file names, if any.
  package init(_ service: Service, authority: String, preset written: String?) {
    let url = "http://\(service.mount.authority(authority))\(service.mount.path)"
    guard let (preset, answers) = Preset.of(service, written: written) else {
      variables = [Self.baseURL(url, of: service)]
      notes = ""
      return
    }
    var all = answers
    all["url"] = url
    all["host"] = service.mount.authority(authority)
    all["origin_host"] = String(service.upstream.origin.description.dropFirst("https://".count))
    let own = preset.variables.compactMap { variable in
      let value = Preset.filled(variable.value, all)
      // A placeholder remains if the service does not reveal its answer.
      return value.contains("{") ? nil : Variable(name: variable.name, value: value, isKey: variable.isKey)
    }
    // Scripts need the service's URL, even if no tool of the provider reads the URL from a variable.
    let hasAddress = preset.variables.contains { $0.value.contains("{url}") || $0.value.contains("{host}") }
    variables = hasAddress ? own : [Self.baseURL(url, of: service)] + own
    notes = Preset.filled(preset.notes, all)
  }

  private static func baseURL(_ url: String, of service: Service) -> Variable {
    let name = String(service.name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    let start = name.first?.isNumber == true ? "_" : ""
    return Variable(name: "\(start)\(name)_BASE_URL", value: url, isKey: false)
  }

  /// Merges the variables of several services. The first value of a variable wins, and `lost` lists services that need
  /// another.
  /// - Parameter gitPairs: The number of `GIT_CONFIG` pairs that the environment already has.
  package static func merged(
    _ services: [(name: String, variables: [Variable])], after gitPairs: Int = 0
  ) -> (variables: [Variable], lost: [(service: String, variable: String)]) {
    var merged: [Variable] = []
    var git: [Variable] = []
    var lost: [(service: String, variable: String)] = []
    for (service, variables) in services {
      for variable in variables {
        if variable.name.hasPrefix("GIT_CONFIG_") {
          if variable.name != "GIT_CONFIG_COUNT" { git.append(variable) }
        } else if let other = merged.first(where: { $0.name == variable.name }) {
          if other.value != variable.value { lost.append((service, variable.name)) }
        } else {
          merged.append(variable)
        }
      }
    }
    return (merged + numbered(git, after: gitPairs), lost)
  }

  /// Returns the variables `GIT_CONFIG_KEY_N`, `GIT_CONFIG_VALUE_N` and `GIT_CONFIG_COUNT`, with numbers from `pairs`.
  private static func numbered(_ git: [Variable], after pairs: Int) -> [Variable] {
    guard !git.isEmpty else { return [] }
    var numbered: [Variable] = []
    var count = pairs - 1
    for variable in git {
      let isKey = variable.name.hasPrefix("GIT_CONFIG_KEY_")
      if isKey { count += 1 }
      let name = (isKey ? "GIT_CONFIG_KEY_" : "GIT_CONFIG_VALUE_") + "\(max(pairs, count))"
      numbered.append(Variable(name: name, value: variable.value, isKey: false))
    }
    return [Variable(name: "GIT_CONFIG_COUNT", value: "\(count + 1)", isKey: false)] + numbered
  }
}

extension Preset {
  /// Returns the preset of a service, if possible `written`, and the answers that the upstream's URL contains.
  package static func of(_ service: Service, written: String?) -> (Preset, answers: [String: String])? {
    let origin = service.upstream.origin.description
    if let written, let preset = named(written) { return (preset, preset.answers(origin: origin) ?? [:]) }
    let matching = all.compactMap { preset in preset.answers(origin: origin).map { (preset, answers: $0) } }
    if let named = matching.first(where: { $0.0.name == service.name }) { return named }
    return matching.first { !$0.0.isOfAnyOrigin } ?? Preset.named(service.name).map { ($0, answers: [:]) }
  }

  private var isOfAnyOrigin: Bool {
    origin.hasPrefix("{")
      || origin.hasPrefix("https://{") && origin.hasSuffix("}") && !origin.dropFirst("https://{".count).contains("{")
  }

  /// Matches `origin` against the preset's origin, which may have one placeholder, as in `https://{site}.example.com`.
  /// Returns the placeholder's name and value, an empty dictionary if there is no placeholder, or `nil` if the origins
  /// do not match.
  private func answers(origin: String) -> [String: String]? {
    guard let open = self.origin.firstIndex(of: "{"), let close = self.origin.firstIndex(of: "}") else {
      return self.origin == origin ? [:] : nil
    }
    let (start, end) = (self.origin[..<open], self.origin[self.origin.index(after: close)...])
    guard origin.count > start.count + end.count, origin.hasPrefix(start), origin.hasSuffix(end) else { return nil }
    let name = String(self.origin[self.origin.index(after: open)..<close])
    return [name: String(origin.dropFirst(start.count).dropLast(end.count))]
  }
}

extension Mount {
  fileprivate func authority(_ listener: String) -> String {
    guard case .host(let host) = self else { return listener }
    return host + (listener.lastIndex(of: ":").map { listener[$0...] } ?? "")
  }

  /// The path without a final slash; empty for a mount without a path.
  package var path: String {
    guard case .path(let bytes) = self else { return "" }
    let path = String(decoding: bytes, as: UTF8.self)
    return path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
