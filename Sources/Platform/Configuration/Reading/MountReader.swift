internal import Policy
import Primitives
internal import Settings

/// The value of `at`: how callers reach a service.
struct ServiceLocation {
  let mount: Mount
  /// The address of a service with its own port, or `nil` if the service uses its listener's port.
  var ownAddress: ListenerSettings.Address?
}

extension SettingsReader {
  /// Reads `at`: `/PATH/`, `localhost:PORT` or `NAME.localhost`.
  func at(_ fields: Fields<ServiceKey>, _ name: String) -> ServiceLocation? {
    guard let node = fields[.at] else { return ServiceLocation(mount: .path(Array("/\(name)/".utf8))) }
    guard let text = text(node, "/PATH/, localhost:PORT or NAME.localhost") else { return nil }
    if text.hasPrefix("/") {
      return path(text, at: node.location).map { ServiceLocation(mount: $0) }
    }
    if text.hasPrefix("unix:") {
      report.error(
        node.location, "a service cannot have its own socket",
        help: "add a listener with this address, and write listener: NAME here")
      return nil
    }
    if let (name, _) = splitPort(text), ASCII.lowercased(name).hasSuffix(".localhost") {
      report.error(
        node.location, "this host name has a port, but a service with a host name always uses the port of its listener",
        help: "write \(quotedPlain(name)). For another port, add listener: NAME")
      return nil
    }
    if text.contains(":") {
      return address(text, at: node.location, mode: 0).map { ServiceLocation(mount: .whole, ownAddress: $0) }
    }
    return host(text, at: node.location).map { ServiceLocation(mount: $0) }
  }

  private func path(_ text: String, at location: TextLocation) -> Mount? {
    guard text.hasSuffix("/") else {
      report.error(location, "the path of the service has no slash at its end", help: "write \(quotedPlain(text))/")
      return nil
    }
    let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().dropLast()
    for segment in segments {
      let isPlain = segment.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "-._~@+=:,".utf8.contains($0) }
      guard isPlain, !segment.isEmpty, segment != ".", segment != ".." else {
        report.error(
          location, "the path of a service can have only letters, digits and -._~@+=:, between single slashes",
          help: "write it like /api/v1/")
        return nil
      }
    }
    return .path(Array(text.utf8))
  }

  private func host(_ text: String, at location: TextLocation) -> Mount? {
    let name: HostName
    do throws(PolicySyntaxError) {
      name = try HostName(parsing: text)
    } catch {
      report.error(location, error.message, help: "write /PATH/, localhost:PORT or NAME.localhost")
      return nil
    }
    // Browsers and resolvers send all names below localhost to this machine (RFC 6761 §6.3).
    guard case .name(let host) = name, host.hasSuffix(".localhost") else {
      let help =
        text == "localhost"
        ? "to give the service its own port, write localhost:PORT. To give it the whole listener, write /" : nil
      report.error(
        location, "\(quoted(text)) is not valid: expected /PATH/, localhost:PORT or NAME.localhost",
        help: help ?? (FieldRules.isToken(text) ? "write /\(text)/" : nil))
      return nil
    }
    return .host(host)
  }

  func quotedPlain(_ text: String) -> String { String(quoted(text).dropFirst().dropLast()) }

  /// Returns all listeners, with host names of services and a new listener for each service with its own port.
  func addServiceListeners(_ listeners: [ListenerDraft], _ services: inout [ServiceDraft]) -> [ListenerDraft] {
    var all = listeners
    for index in services.indices {
      let service = services[index].service
      guard listeners.indices.contains(service.listener) else { continue }
      if let address = services[index].ownAddress {
        var own = listeners[service.listener]
        own.name = ListenerSettings.servicePrefix + service.name
        own.location = services[index].mountLocation
        own.addresses = [(address, services[index].mountLocation)]
        services[index].service.listener = all.count
        all.append(own)
      } else if case .host(let host) = service.mount {
        for port in ports(of: listeners[service.listener]) {
          let authority = "\(host):\(port)"
          if !all[service.listener].hosts.contains(authority) { all[service.listener].hosts.append(authority) }
        }
      }
    }
    return all
  }

  private func ports(of listener: ListenerDraft) -> [UInt16] {
    var ports: [UInt16] = []
    for case let port? in listener.addresses.map(\.address.port) where !ports.contains(port) { ports.append(port) }
    return ports
  }
}
