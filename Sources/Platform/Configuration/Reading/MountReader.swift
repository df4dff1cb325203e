internal import Policy
import Primitives
internal import Settings

/// Reads `at` of a service: `/PATH/`, `localhost:PORT` or `NAME.localhost`.
struct MountReader: SectionReader {
  let context: ReadingContext

  /// Returns where callers reach the service, with the address of a service with its own port.
  func at(_ fields: Fields<ServiceKey>, _ name: String) -> (mount: Mount, ownAddress: ListenerSettings.Address?)? {
    guard let node = fields[.at] else { return (.path(Array("/\(name)/".utf8)), nil) }
    guard let text = text(node, "/PATH/, localhost:PORT or NAME.localhost") else { return nil }
    let addresses = AddressReader(context: context)
    if text.hasPrefix("/") { return path(text, at: node.location).map { ($0, nil) } }
    if text.hasPrefix("unix:") {
      return report.error(
        node.location, "a service cannot have its own socket",
        help: "add a listener with this address, and write listener: NAME here")
    }
    if let (name, _) = addresses.splitPort(text), ASCII.lowercased(name).hasSuffix(".localhost") {
      return report.error(
        node.location, "this host name has a port, but a service with a host name always uses the port of its listener",
        help: "write \(quotedPlain(name)). For another port, add listener: NAME")
    }
    if text.contains(":") {
      return addresses.address(text, at: node.location, mode: 0).map { (.whole, $0) }
    }
    return host(text, at: node.location).map { ($0, nil) }
  }

  private func path(_ text: String, at location: TextLocation) -> Mount? {
    guard text.hasSuffix("/") else {
      return report.error(
        location, "the path of the service has no slash at its end", help: "write \(quotedPlain(text))/")
    }
    let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().dropLast()
    for segment in segments {
      let isPlain = segment.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "-._~@+=:,".utf8.contains($0) }
      guard isPlain, !segment.isEmpty, segment != ".", segment != ".." else {
        return report.error(
          location, "the path of a service can have only letters, digits and -._~@+=:, between single slashes",
          help: "write it like /api/v1/")
      }
    }
    return .path(Array(text.utf8))
  }

  private func host(_ text: String, at location: TextLocation) -> Mount? {
    let help = "write /PATH/, localhost:PORT or NAME.localhost"
    guard let name = parsed(text, at: location, help: help, HostName.init(parsing:)) else { return nil }
    // Browsers and resolvers send all names below localhost to this machine (RFC 6761 §6.3).
    guard case .name(let host) = name, host.hasSuffix(".localhost") else {
      let help =
        text == "localhost"
        ? "to give the service its own port, write localhost:PORT. To give it the whole listener, write /" : nil
      return report.error(
        location, "\(quoted(text)) is not valid: expected /PATH/, localhost:PORT or NAME.localhost",
        help: help ?? (FieldRules.isToken(text) ? "write /\(text)/" : nil))
    }
    return .host(host)
  }
}
