internal import Configuration
internal import Gateway
internal import HTTP1
internal import Policy
internal import System

/// Finds them by asking the live rules.
struct TargetFinder {
  let settings: Settings
  let snapshot: Snapshot
  let places: [String: SelftestDaemon.Place]
  let upstreams: [EmbeddedUpstream]

  func targets(only: String?) -> [Target] {
    settings.rules.services.indices.compactMap { index in
      only == nil || settings.rules.services[index].name == only ? target(index) : nil
    }
  }

  private func target(_ index: Int) -> Target? {
    let service = settings.rules.services[index]
    guard settings.listeners.indices.contains(service.listener),
      let place = places[settings.listeners[service.listener].name]
    else { return nil }
    let authority = authority(of: service, at: place)
    var best: Target?
    for (method, path) in candidates(service) {
      let explanation = snapshot.explain(
        "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n\r\n", listener: service.listener)
      guard let explanation, explanation.refusal == nil, let route = explanation.route, route.service == index else {
        continue
      }
      let grant: Int? = if case .inject(let grant) = route.credential { grant } else { nil }
      if best != nil, grant == nil { continue }
      let headers = route.rule.flatMap { service.rules?[$0].headers } ?? service.headers
      best = Target(
        name: service.name, service: service, index: index, place: place, authority: authority, method: method,
        path: path, mount: mount(of: service), grant: grant, headers: headers, upstream: service.upstream.origin)
      if grant != nil { break }
    }
    return best
  }

  private func authority(of service: Service, at place: SelftestDaemon.Place) -> String {
    let port: UInt16? = if case .port(let port, _) = place { port } else { nil }
    let suffix = port.map { ":\($0)" } ?? ""
    if case .host(let host) = service.mount { return host + suffix }
    if case .port(_, let hosts) = place, let host = hosts.first { return host + suffix }
    return "localhost" + suffix
  }

  private func mount(of service: Service) -> String {
    switch service.mount {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host, .whole: "/"
    }
  }

  /// Requests that a rule may have been written for, reading ones first.
  private func candidates(_ service: Service) -> [(method: String, path: String)] {
    let mount = mount(of: service)
    // An OPTIONS carries a credential only where a rule names it.
    let any = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    guard let rules = service.rules else { return [("GET", mount + "selftest")] }
    let all = rules.flatMap { rule in
      (rule.methods.names.isEmpty ? any : rule.methods.names).flatMap { method in
        Target.witnesses(of: rule.pattern.text).map { (method, mount + $0.dropFirst()) }
      }
    }
    func rank(_ method: String) -> Int { any.firstIndex(of: method) ?? any.count }
    return all.sorted { rank($0.0) < rank($1.0) }
  }
}

extension Target {
  /// Paths that a pattern matches: in place of its wildcards a word, or nothing.
  static func witnesses(of pattern: String) -> [String] {
    let long = pattern.replacing("**", with: "\u{1}").replacing("*", with: "selftest").replacing("?", with: "x")
    return [long.replacing("\u{1}", with: "selftest/x"), long.replacing("\u{1}", with: "selftest")]
  }
}

extension Snapshot {
  /// The verdict of the live path's code on a head; nil: it is malformed.
  func explain(_ head: String, listener: Int) -> Explanation? {
    var parsed = RequestHead()
    let bytes = Array(head.utf8)
    do throws(MessageError) {
      var reader = HeadReader(limits: headLimits)
      guard try reader.readRequest(bytes.span, into: &parsed) != nil else { return nil }
    } catch {
      return nil
    }
    return Explanation(parsed, caller: Caller(uid: Users.currentUID), listener: listener, snapshot: self)
  }
}
