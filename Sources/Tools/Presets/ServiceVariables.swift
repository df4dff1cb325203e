internal import Configuration
package import Policy

/// The environment variables with which programs use a service here.
package struct ServiceVariables: Sendable {
  package struct Variable: Sendable, Equatable {
    package var name: String
    package let value: String
    /// Stands where a program expects a key.
    package let isKey: Bool

    package init(name: String, value: String, isKey: Bool) {
      self.name = name
      self.value = value
      self.isKey = isKey
    }
  }

  package let variables: [Variable]
  /// What else a person should know; empty: nothing.
  package let notes: String

  /// - Parameters:
  ///   - authority: the host and port by which programs reach the service.
  ///   - preset: the name of the preset that its file was written from, if it says so.
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
      // An answer that neither the upstream nor the name tells.
      return value.contains("{") ? nil : Variable(name: variable.name, value: value, isKey: variable.isKey)
    }
    // A script needs the address, also where no tool of the provider's reads one.
    let hasAddress = preset.variables.contains { $0.value.contains("{url}") || $0.value.contains("{host}") }
    variables = hasAddress ? own : [Self.baseURL(url, of: service)] + own
    notes = Preset.filled(preset.notes, all)
  }

  private static func baseURL(_ url: String, of service: Service) -> Variable {
    let name = String(service.name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    let start = name.first?.isNumber == true ? "_" : ""
    return Variable(name: "\(start)\(name)_BASE_URL", value: url, isKey: false)
  }

  /// The variables of several services. Where two want different values of one, the first has it, and the other is in `lost`.
  /// - Parameter gitPairs: the pairs of git that the environment has already.
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

  /// git reads pairs of key and value that are counted from 0.
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
  /// Returns the preset of a service, with the answers that its upstream tells: the one that it was written from, or by the upstream,
  /// whatever the service is called, or else by its name, as of a gateway that stands in for the provider.
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

  /// Returns the answers with which this preset has an origin. `nil` if it has none such.
  private func answers(origin: String) -> [String: String]? {
    guard let open = self.origin.firstIndex(of: "{"), let close = self.origin.firstIndex(of: "}") else {
      return self.origin == origin ? [:] : nil
    }
    let (start, end) = (self.origin[..<open], self.origin[self.origin.index(after: close)...])
    guard origin.count > start.count + end.count, origin.hasPrefix(start), origin.hasSuffix(end) else { return nil }
    return [
      String(self.origin[self.origin.index(after: open)..<close]): String(
        origin.dropFirst(start.count).dropLast(end.count))
    ]
  }
}

extension Mount {
  fileprivate func authority(_ listener: String) -> String {
    guard case .host(let host) = self else { return listener }
    let port = listener.lastIndex(of: ":").map { listener[$0...] } ?? ""
    return host + port
  }

  /// Without a slash at its end.
  fileprivate var path: String {
    guard case .path(let bytes) = self else { return "" }
    let path = String(decoding: bytes, as: UTF8.self)
    return path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
