package import HTTP1
package import Policy
internal import Primitives

/// The response to `GET /.well-known/bearerd`: the services that a caller may use.
package enum Discovery {
  /// The request target, which is compared byte by byte.
  static let path = "/.well-known/bearerd"

  /// A service of a listener, with the ways in which its requests can get a credential.
  package struct Offer: Sendable {
    package let service: Int
    /// Indices of the grants that its rules use. The credential of the service is first.
    package let grants: [Int]
    /// Whether some requests are sent without a credential of bearerd.
    package let isOpen: Bool
  }

  /// The state of one credential.
  package struct Credential: Sendable {
    package let isAvailable: Bool
    /// When the value expires, in seconds since 1970. `nil` if unknown.
    package let expires: Int64?
    /// The command that a person has to run. `nil` if the credential is available.
    package let remedy: String?

    package init(isAvailable: Bool, expires: Int64?, remedy: String?) {
      self.isAvailable = isAvailable
      self.expires = expires
      self.remedy = remedy
    }
  }

  /// Returns the services of each of these listeners.
  static func offers(of rules: RuleSet, on listeners: [Int]) -> [Int: [Offer]] {
    var offers = Dictionary(listeners.map { ($0, [Offer]()) }) { first, _ in first }
    guard !offers.isEmpty else { return offers }
    for (index, service) in rules.services.enumerated() where offers[service.listener] != nil {
      let choices = service.rules.map { $0.compactMap(\.choice) } ?? [service.credential]
      var grants: [Int] = []
      var known: Set<Int> = []
      if case .inject(let own) = service.credential, choices.contains(service.credential) {
        grants.append(own)
        known.insert(own)
      }
      for case .inject(let grant) in choices where known.insert(grant).inserted { grants.append(grant) }
      let isOpen = choices.contains { if case .inject = $0 { false } else { true } }
      offers[service.listener]?.append(Offer(service: index, grants: grants, isOpen: isOpen))
    }
    return offers
  }

  /// Returns the JSON document for a caller.
  /// - Parameters:
  ///   - authority: the host and port under which the caller reaches the listener.
  ///   - credential: returns the state of a single credential. `grant` is the index of the grant with which requests of
  ///     the service use it, alone or together with others.
  package static func document(
    for caller: Caller, authority: String, _ offers: [Offer], _ rules: RuleSet,
    credential: (_ name: String, _ grant: Int, _ service: Int) -> Credential
  ) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.array("services") { json in
        for offer in offers {
          let service = rules.services[offer.service]
          guard service.callers?.admits(caller) ?? true else { continue }
          let grants = offer.grants.filter { rules.grants[$0].callers?.admits(caller) ?? true }
          guard offer.isOpen || !grants.isEmpty else { continue }
          json.object { json in
            json.member("name", service.name)
            json.member("url", baseURL(of: service, authority))
            json.array("credentials") { json in
              var known: Set<String> = []
              for grant in grants {
                // Credentials that are sent together are listed one by one.
                let parts = rules.grants[grant].parts
                for name in parts.isEmpty ? [rules.grants[grant].name] : parts.map(\.name)
                where known.insert(name).inserted {
                  write(name, credential(name, grant, offer.service), to: &json)
                }
              }
            }
          }
        }
      }
    }
    return json.bytes + [UInt8(ascii: "\n")]
  }

  private static func write(_ name: String, _ state: Credential, to json: inout JSONWriter) {
    json.object { json in
      json.member("name", name)
      json.member("available", state.isAvailable)
      json.member("expires", state.expires.map { UInt64(clamping: $0) })
      json.member("run", state.remedy)
    }
  }

  private static func baseURL(of service: Service, _ authority: String) -> String {
    switch service.mount {
    case .path(let path): return "http://\(authority)\(String(decoding: path, as: UTF8.self))"
    case .host(let host):
      let port = authority.utf8.last == UInt8(ascii: "]") ? nil : authority.split(separator: ":").dropFirst().last
      return "http://\(host)\(port.map { ":\($0)" } ?? "")/"
    case .whole: return "http://\(authority)/"
    }
  }

  /// Returns the host and port that the client wrote. `localhost` if the request has none, or an unusual one, which is
  /// possible on a Unix socket.
  package static func authority(of head: RequestHead) -> String {
    guard let range = head.absoluteAuthority ?? head.host, (1...maxAuthority).contains(range.count),
      head.bytes[range].allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") })
    else { return "localhost" }
    return String(decoding: head.bytes[range], as: UTF8.self)
  }

  /// A host name of 253 bytes (RFC 1035 section 2.3.4), a colon and a port.
  private static let maxAuthority = 259

  /// Writes the response with this body.
  static func write(_ body: [UInt8], admitted: AdmittedRequest, to output: inout OutgoingResponse) {
    output.begin(200, reason: "OK")
    output.fields.append("Content-Type: application/json\r\n")
    output.fields.append("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
    CrossOrigin.write(for: admitted, to: &output.fields)
    output.append(content: body[...])
  }
}

extension Rule {
  /// The credential of requests that the rule allows. `nil` if the rule denies requests.
  fileprivate var choice: CredentialChoice? {
    switch action {
    case .forward(let choice): choice
    case .deny: nil
    }
  }
}
