internal import Policy
internal import Settings

/// A service as it was read, with its keys as locations for messages.
struct ServiceDraft {
  var service: Service
  let fields: Fields<ServiceKey>
  /// The location of the value of `cookies`, or `nil` without this key or after an error in `credential`.
  let cookiesLocation: TextLocation?
  /// The address of a service with its own port, otherwise `nil`.
  let ownAddress: ListenerSettings.Address?
  let rules: [Fields<RuleKey>]
  let clients: [ClientReference]

  var location: TextLocation { fields.location }
}

extension [ListenerDraft] {
  /// Adds the host names of services, and a new listener for each service with its own port.
  mutating func addListeners(of services: inout [ServiceDraft]) {
    let listeners = self
    for index in services.indices {
      let service = services[index].service
      guard listeners.indices.contains(service.listener) else { continue }
      if let address = services[index].ownAddress {
        var own = listeners[service.listener]
        own.name = ListenerSettings.servicePrefix + service.name
        own.location = services[index].fields.valueLocation(of: .at)
        own.addresses = [(address, own.location)]
        services[index].service.listener = count
        append(own)
      } else if case .host(let host) = service.mount {
        for port in listeners[service.listener].addresses.compactMap(\.address.port) {
          let authority = "\(host):\(port)"
          if !self[service.listener].hosts.contains(authority) { self[service.listener].hosts.append(authority) }
        }
      }
    }
  }
}

extension Service {
  /// The indices of the credentials that the service and its rules add to requests.
  var injectedGrants: [Int] {
    let choices = rules.map { $0.map(\.action) } ?? [.forward(credential)]
    return choices.compactMap { if case .forward(.inject(let index)) = $0 { index } else { nil } }
  }

  /// Returns the service, changed so that it removes callers' query parameters that a credential also sets (T13).
  func removingParameters(setBy credentials: [CredentialDraft]) -> Service {
    func names(_ choice: CredentialChoice) -> [String] {
      guard case .inject(let index) = choice, credentials.indices.contains(index) else { return [] }
      return (credentials[index].scheme?.parameterNames ?? []).map(FieldRules.normalizedParameter)
    }
    func adding(_ names: [String], to headers: HeaderPolicy) -> HeaderPolicy {
      var headers = headers
      for name in names where !headers.removeParameters.contains(name) { headers.removeParameters.append(name) }
      return headers
    }
    var service = self
    service.headers = adding(names(credential), to: headers)
    service.rules = rules?.map { rule in
      guard case .forward(let choice) = rule.action, case let names = names(choice), !names.isEmpty else { return rule }
      return Rule(
        pattern: rule.pattern, methods: rule.methods, action: rule.action, headers: adding(names, to: rule.headers),
        description: rule.description, line: rule.line, rate: rule.rate)
    }
    return service
  }
}
