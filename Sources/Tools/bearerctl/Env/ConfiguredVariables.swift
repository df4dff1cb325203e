internal import Configuration
internal import Console
internal import Policy
internal import Presets
internal import Settings
internal import Loading
internal import System

/// The environment variables that programs need to use the services of a configuration.
struct ConfiguredVariables {
  let variables: [ServiceVariables.Variable]
  let notes: [String]

  /// - Parameters:
  ///   - services: Names of services; empty for all services.
  ///   - ports: The ports of a running daemon; `nil` to use the ports in the settings.
  ///   - gitPairs: The value of `GIT_CONFIG_COUNT` in the environment.
  init(_ settings: DaemonSettings, services wanted: [String], _ ports: (any ListenerPorts)?, gitPairs: Int = 0) throws {
    let services = try wanted.map { name in
      guard let service = settings.rules.services.firstIndex(where: { $0.name == name }) else {
        let names = settings.rules.services.map(\.name)
        let guess = Suggestion.nearest(to: name, in: names).map { "did you mean \"\($0)\"?" }
        let others =
          names.isEmpty ? "\"bearerctl add\" adds one" : "the services are \(names.joined(separator: ", "))"
        throw Failure(Failure.usage, "there is no service \"\(name.harmless)\" in \(settings.file): \(guess ?? others)")
      }
      return service
    }
    var notes: [String] = []
    let indices = wanted.isEmpty ? Array(settings.rules.services.indices) : services
    let all = try indices.map { index -> (name: String, variables: [ServiceVariables.Variable]) in
      let service = settings.rules.services[index]
      let listener = settings.listeners[service.listener]
      if listener.isUnixOnly, ports?.isPrivate != true {
        notes.append("\(service.name) is on a Unix socket, which has no URL")
        return (service.name, [])
      }
      if !listener.clients.isEmpty {
        notes.append("\(service.name) needs a client token. Write it in place of the key")
      }
      let bound = try ports?.ports(of: listener.name) ?? []
      let authority = listener.authority(bound)
      if listener.isOfOneService, case .localhost(let written)? = listener.addresses.first, let port = bound.first,
        ports?.isPrivate == true, port != written, written != 0
      {
        notes.append(
          "\(service.name) is at localhost:\(port) for this program, because port \(written) is not available")
      }
      if ports?.isPrivate == false, Users.currentUID != 0, let uids = listener.callers.uids,
        !uids.contains(Users.currentUID)
      {
        notes.append(
          "\(service.name) refuses your programs, because allow_users of listener \(listener.name) does not include you"
        )
      }
      let preset = AddedFiles.preset(of: settings.file(ofService: index))
      return (service.name, ServiceVariables(service, authority: authority, preset: preset).variables)
    }
    let merged = ServiceVariables.merged(all, after: gitPairs)
    for (service, variable) in merged.lost {
      notes.append(
        "\(variable) is already set for another service, so it is not set for \(service). Name only one of the two services"
      )
    }
    variables = merged.variables
    self.notes = notes
  }
}

protocol ListenerPorts {
  /// Whether the daemon uses free ports instead of the addresses in the settings.
  var isPrivate: Bool { get }
  /// Returns the TCP ports of a listener; empty if they are unknown.
  func ports(of listener: String) throws -> [UInt16]
}

extension ListenerSettings {
  /// Returns the host and port at which programs reach the listener. `bound` are its ports, empty if unknown.
  func authority(_ bound: [UInt16]) -> String {
    let written = firstAuthority(bound)
    guard let port = bound.first, !bound.contains(where: { written.hasSuffix(":\($0)") }) else { return written }
    return "localhost:\(port)"
  }

  fileprivate var isUnixOnly: Bool {
    addresses.allSatisfy { if case .unix = $0 { true } else { false } }
  }
}
