internal import Policy
internal import Settings

struct ListenerDraft {
  var name: String
  /// The section of the file that decides who may send requests.
  var admission: String
  var location: TextLocation
  var addresses: [(address: ListenerSettings.Address, location: TextLocation)]
  var callers: Callers
  /// `false` if `callers` is the default.
  var namesCallers: Bool
  var hosts: [String]
  var pages: [(value: PageOrigin, location: TextLocation)] = []
  var clients: [Client] = []
  var hasClients = false
  var offersDiscovery = false

  var settings: ListenerSettings {
    ListenerSettings(
      name: name, addresses: addresses.map(\.address), callers: callers, admission: admission, extraAuthorities: hosts,
      clients: clients, pages: PageOrigins(pages.map(\.value)), offersDiscovery: offersDiscovery)
  }
}

/// Reads `listeners` and `metrics`.
struct ListenersReader: SectionReader {
  let context: ReadingContext

  private static let defaultAddress = ListenerSettings.Address.localhost(port: 7070)

  private var defaultCallers: Callers? { CallersReader(context: context).defaultCallers }

  func listeners(_ top: Fields<TopKey>) -> [ListenerDraft] {
    guard let node = top[.listeners] else { return [defaultListener()] }
    let listeners = named(node, "a listener").compactMap { listener($0) }
    if node.isEmptyMapping {
      report.error(
        node.location, "\"listeners\" is empty",
        help: "delete the line to use the default listener: main on localhost:7070")
    }
    return listeners
  }

  func metrics(_ top: Fields<TopKey>, beside listeners: [ListenerDraft]) -> ListenerDraft? {
    guard let node = top[.metrics] else { return nil }
    let name = ListenerSettings.metricsName
    if let other = listeners.first(where: { $0.name == name }) {
      report.error(
        other.location,
        "\"metrics\" (\(report.line(node.location, seenFrom: other.location))) creates a listener with this name",
        help: "choose another name for this listener")
    }
    var draft = listener(Named(name: name, location: top.location(of: .metrics), value: node))
    draft?.admission = TopKey.metrics.rawValue
    if let page = draft?.pages.first {
      report.error(page.location, "web pages cannot read the metrics", help: "delete \"browsers\" here")
    }
    if draft?.offersDiscovery == true {
      report.error(
        draft?.location ?? node.location, "\"discovery\" is not allowed here, because this listener has no services",
        help: "delete \"discovery\" here, and add it to a listener under \"listeners\"")
    }
    return draft
  }

  private func defaultListener() -> ListenerDraft {
    if defaultCallers == nil {
      report.error(
        .wholeFile,
        "no listener says who may use it, and the daemon runs as a system user (uid \(environment.uid))",
        help: "add:\nlisteners:\n  main: { address: localhost:7070, allow_users: [NAME] }")
    }
    return ListenerDraft(
      name: "main", admission: "listeners.main", location: .wholeFile, addresses: [(Self.defaultAddress, .wholeFile)],
      callers: defaultCallers ?? Callers(uids: []),
      namesCallers: false, hosts: [])
  }

  private func listener(_ named: Named) -> ListenerDraft? {
    guard let fields = fields(named.value, at: named.location, of: ListenerKey.self) else { return nil }
    let mode = fields[.mode].flatMap { self.mode($0) }
    let addresses = addresses(fields, of: named.name, mode: mode ?? 0o660)
    if fields.has(.mode), !addresses.contains(where: \.address.isUnix) {
      let isInherited = addresses.contains { $0.address.isSystemd }
      report.error(
        fields.location(of: .mode),
        "\"mode\" applies only to Unix sockets that bearerd creates, and this listener has no such socket",
        help: isInherited ? "write SocketMode=0666 in the socket unit" : nil)
    }
    let callers = CallersReader(context: context).callers(users: fields[.allowUsers], groups: fields[.allowGroups])
    let admitsOnlyClients = fields.has(.clients) && !addresses.isEmpty && !addresses.map(\.address).admitLocalUsers
    if admitsOnlyClients, callers != nil {
      report.error(
        fields.location(of: fields.has(.allowUsers) ? .allowUsers : .allowGroups),
        "callers on other machines are not users of this machine: only \"clients\" can admit callers here",
        help: "delete the line")
    }
    if callers == nil, defaultCallers == nil, !admitsOnlyClients {
      report.error(
        named.location,
        "listener \"\(named.name)\" does not say who may use it, and the daemon runs as a system user (uid \(environment.uid))",
        help: "add allow_users: [NAME]")
    }
    if mode == nil, let callers, let location = addresses.first(where: \.address.isUnix)?.location {
      checkSocketMode(for: callers, at: location)
    }
    let hosts = fields[.hosts].flatMap { filledList($0, of: "names with a port") } ?? []
    return ListenerDraft(
      name: named.name, admission: "listeners.\(named.name)", location: named.location, addresses: addresses,
      callers: callers ?? (admitsOnlyClients ? nil : defaultCallers) ?? Callers(uids: []),
      namesCallers: callers != nil || admitsOnlyClients,
      hosts: hosts.compactMap { host($0) },
      pages: BrowsersReader(context: context).pages(fields),
      clients: fields[.clients].map { ClientsReader(context: context).clients($0) } ?? [],
      hasClients: fields.has(.clients), offersDiscovery: boolean(.discovery, of: fields) ?? false)
  }

  /// Warns if the default mode of a Unix socket excludes allowed users.
  private func checkSocketMode(for callers: Callers, at location: TextLocation) {
    // The kernel refuses users without permission before bearerd can check `allow_users`.
    guard let uids = callers.uids, uids.contains(where: { $0 != environment.uid && $0 != 0 }) else { return }
    report.warning(
      location, "only the daemon's user and group can connect to this socket, but allow_users names other users",
      help: "add mode: \"0666\" to the listener. allow_users still decides which users are admitted")
  }

  private func addresses(
    _ fields: Fields<ListenerKey>, of name: String, mode: UInt32
  ) -> [(address: ListenerSettings.Address, location: TextLocation)] {
    guard let node = fields[.address] else {
      // `main` does not need an address.
      if name == "main" { return [(Self.defaultAddress, fields.location)] }
      required(.address, of: fields, "the listener has no address", help: "add address: localhost:7070")
      return []
    }
    let nodes: [YAMLNode]
    if case .sequence = node.content { nodes = filledList(node, of: "addresses") ?? [] } else { nodes = [node] }
    return nodes.compactMap { node in
      guard let text = text(node, "an address") else { return nil }
      return AddressReader(context: context).address(text, at: node.location, mode: mode).map { ($0, node.location) }
    }
  }

  private func mode(_ node: YAMLNode) -> UInt32? {
    guard let text = text(node, "permissions like \"0660\"") else { return nil }
    guard text.utf8.count == 3 || text.utf8.count == 4, let mode = UInt32(text, radix: 8), mode <= 0o777 else {
      return report.error(node.location, "\(quoted(text)) is not valid: expected permissions like \"0660\"")
    }
    guard mode & 0o111 == 0, mode & 0o600 == 0o600 else {
      return report.error(
        node.location,
        "\(quoted(text)) is not valid for a socket: its owner must be able to read and write, and execute permissions are not allowed",
        help: "write \"0660\" or \"0600\"")
    }
    return mode
  }

  /// Reads a host name with a port, such as `host.docker.internal:7070`.
  private func host(_ node: YAMLNode) -> String? {
    guard let text = text(node, "a name with a port") else { return nil }
    guard let (name, port) = AddressReader(context: context).splitPort(text), port != 0 else {
      return report.error(
        node.location, "\(quoted(text)) is not valid: expected a name with a port",
        help: "write it like host.docker.internal:7070")
    }
    return parsed(name, at: node.location, HostName.init(parsing:)).map { "\($0):\(port)" }
  }
}

extension ListenerSettings.Address {
  var isUnix: Bool { if case .unix = self { true } else { false } }

  fileprivate var isSystemd: Bool { if case .systemd = self { true } else { false } }
}
