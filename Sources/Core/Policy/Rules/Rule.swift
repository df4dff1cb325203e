/// The credential that is added to a request.
public enum CredentialChoice: Sendable, Equatable {
  /// The grant at this index of `RuleSet.grants`.
  case inject(Int)
  /// Nothing, and what the app sent is removed.
  case none
  /// Nothing, and the app's own is left alone.
  case pass
}

/// One line of a service's policy. One that denies matches whatever the case of ASCII letters, in paths and methods, unless it
/// says otherwise: there are upstreams that ignore case, and they would serve under another spelling what is denied. One that
/// allows matches as it is written.
package struct Rule: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    case deny
    case forward(CredentialChoice)
  }
  package let pattern: URLPattern
  package let methods: MethodSet
  package let action: Action
  package let headers: HeaderPolicy
  package let rate: RuleRate
  package let description: String?
  /// Line of the configuration file, for people.
  package let line: Int

  package init(
    pattern: URLPattern, methods: MethodSet, action: Action, headers: HeaderPolicy, description: String?, line: Int,
    rate: RuleRate = .asService, isExact: Bool = false
  ) {
    let ignoresCase = action == .deny && !isExact
    self.pattern = ignoresCase ? pattern.ignoringCase : pattern
    self.methods = ignoresCase ? methods.ignoringCase : methods
    self.action = action
    self.headers = headers
    self.rate = rate
    self.description = description
    self.line = line
  }
}
