package import HTTP1

/// What is added to a request.
package enum CredentialChoice: Sendable, Equatable {
  /// The grant at this index of `RuleSet.grants`.
  case inject(Int)
  /// Nothing, and what the app sent is removed.
  case none
  /// Nothing, and the app's own is left alone.
  case pass
}

/// Methods of a rule: empty means every method.
package struct MethodSet: Sendable, Equatable {
  /// As configured; upper-case tokens.
  package let names: [String]
  /// Refuses what is not a token, and TRACE and CONNECT, which never go out.
  package init(_ names: [String]) throws(OriginError) { fatalError() }
  package static var every: MethodSet { fatalError() }
  /// `name` matters for `other` only. Methods are case-sensitive. HEAD is not implied by GET.
  package func contains(_ method: Method, name: Span<UInt8>) -> Bool { fatalError() }
}

/// A glob over the canonical path below a service's base: `*` within a segment, `**` across, `**/` may be empty, `?` one character; anchored.
package struct URLPattern: Sendable, Equatable {
  /// As configured, with one leading slash.
  package let text: String
  /// Refuses empty text, a scheme or authority, `..` and `.` segments, a query, a fragment, backslash, control bytes, bad escapes; canonicalises escapes.
  package init(parsing text: String) throws(OriginError) { fatalError() }
  /// `path` begins with the slash that ends the base. Linear in its length (no backtracking explosion).
  package func matches(_ path: Span<UInt8>) -> Bool { fatalError() }
}

/// What happens to the head of a forwarded request and of its response; a service's and a rule's own, merged when read.
package struct HeaderPolicy: Sendable, Equatable {
  package enum OnClientHeader: String, Sendable { case replace, keep, reject }
  package enum Cookies: String, Sendable { case strip, pass }
  package struct Setting: Sendable, Equatable {
    package let name: String
    package let value: [UInt8]
    package init(name: String, value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }
  package var onClientHeader = OnClientHeader.replace
  /// Lower-case, `_` written `-`.
  package var allowClientHeaders: [String] = []
  package var set: [Setting] = []
  /// Lower-case.
  package var remove: [String] = []
  package var cookies = Cookies.strip
  package var via = false
  package init() {}
}

/// One line of a service's policy.
package struct Rule: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    case deny
    case forward(CredentialChoice)
  }
  package let pattern: URLPattern
  package let methods: MethodSet
  package let action: Action
  package let headers: HeaderPolicy
  package let description: String?
  /// Line of the configuration file, for people.
  package let line: Int

  package init(
    pattern: URLPattern, methods: MethodSet, action: Action, headers: HeaderPolicy, description: String?, line: Int
  ) {
    self.pattern = pattern
    self.methods = methods
    self.action = action
    self.headers = headers
    self.description = description
    self.line = line
  }
}

/// Where a service is found on its listener.
package enum Mount: Sendable, Equatable {
  /// Canonical path, begins and ends with `/`.
  case path([UInt8])
  /// A host name of its own on the listener's port, e.g. `github.localhost`: the whole path space.
  case host(String)
  /// A listener of its own: the whole path space.
  case whole
}

/// A service: an upstream with its policy.
package struct Service: Sendable, Equatable {
  package var name: String
  /// Index of the listener in the settings.
  package var listener: Int
  package var mount: Mount
  package var upstream: Upstream
  package var trust = TrustPolicy()
  /// nil: no rules stand here, everything below the base goes out with `credential`. Empty rules: nothing goes out.
  package var rules: [Rule]?
  package var credential: CredentialChoice
  package var callers: Callers?
  package var headers = HeaderPolicy()
  package var timeouts = Timeouts()
  package var rejected = OnRejected.pass

  /// What the app gets when the upstream rejects our credential.
  package enum OnRejected: String, Sendable { case pass, badGateway = "502" }

  package init(name: String, listener: Int, mount: Mount, upstream: Upstream, credential: CredentialChoice) {
    self.name = name
    self.listener = listener
    self.mount = mount
    self.upstream = upstream
    self.credential = credential
  }
}
