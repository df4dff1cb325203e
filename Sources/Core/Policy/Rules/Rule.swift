/// The credential that is added to a request.
public enum CredentialChoice: Sendable, Equatable {
  /// The grant at this index of `RuleSet.grants`.
  case inject(Int)
  /// No credential is added, and the client's own credential is removed.
  case none
  /// No credential is added, and the client's own credential is kept.
  case pass
}

/// One rule of a service. By default, a rule that denies ignores the case of ASCII letters in paths and methods, and a
/// rule that allows is case-sensitive.
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
  /// The text that a refused program gets. `nil` if the rule allows requests, or has no text.
  package let message: String?
  package let line: Int

  package init(
    pattern: URLPattern, methods: MethodSet, action: Action, headers: HeaderPolicy, description: String?, line: Int,
    rate: RuleRate = .inherited, isExact: Bool = false, message: String? = nil
  ) {
    let ignoresCase = action == .deny && !isExact
    self.pattern = ignoresCase ? pattern.ignoringCase : pattern
    self.methods = ignoresCase ? methods.ignoringCase : methods
    self.action = action
    self.headers = headers
    self.rate = rate
    self.description = description
    self.message = message
    self.line = line
  }
}
