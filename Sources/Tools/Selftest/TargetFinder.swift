internal import Console
internal import Gateway
internal import HTTP1
internal import Policy
internal import Settings
internal import System

/// Finds for each service a request that its rules allow.
struct TargetFinder {
  let settings: DaemonSettings
  let snapshot: Snapshot
  let endpoints: [String: StartedDaemon.Endpoint]
  let upstreams: [EmbeddedUpstream]

  func targets(only: String?) -> [Target] {
    settings.rules.services.indices.compactMap { index in
      only == nil || settings.rules.services[index].name == only ? target(index) : nil
    }
  }

  private func target(_ index: Int) -> Target? {
    let service = settings.rules.services[index]
    guard settings.listeners.indices.contains(service.listener),
      let endpoint = endpoints[settings.listeners[service.listener].name]
    else { return nil }
    let authority = authority(of: service, at: endpoint)
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
        name: service.name, service: service, index: index, endpoint: endpoint, authority: authority, method: method,
        path: path, mount: mount(of: service), grant: grant, headers: headers, upstream: service.upstream.origin)
      if grant != nil { break }
    }
    return best
  }

  private func authority(of service: Service, at endpoint: StartedDaemon.Endpoint) -> String {
    let suffix = endpoint.port.map { ":\($0)" } ?? ""
    if case .host(let host) = service.mount { return host + suffix }
    if case .port(_, let hosts) = endpoint, let host = hosts.first { return host + suffix }
    return "localhost" + suffix
  }

  private func mount(of service: Service) -> String {
    switch service.mount {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host, .whole: "/"
    }
  }

  /// Returns requests that the service's rules could allow, `GET` first.
  private func candidates(_ service: Service) -> [(method: String, path: String)] {
    let mount = mount(of: service)
    // bearerd adds a credential to OPTIONS only if a rule names OPTIONS, so OPTIONS is last.
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
  /// Returns two paths that match the pattern of a rule.
  static func witnesses(of pattern: String) -> [String] {
    let long = pattern.replacing("**", with: "\u{1}").replacing("*", with: "selftest").replacing("?", with: "x")
    return [long.replacing("\u{1}", with: "selftest/x"), long.replacing("\u{1}", with: "selftest")]
  }
}

extension Snapshot {
  /// Returns bearerd's decision for a request head; `nil` if the head is malformed.
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
