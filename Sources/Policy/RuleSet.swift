package import HTTP1

/// Where a request goes.
package struct Route: Sendable, Equatable {
  package let service: Int
  /// nil: the service has no rules.
  package let rule: Int?
  package let credential: CredentialChoice
  /// Where in the canonical path the part below the service's base begins: the slash that ends the mount.
  package let pathStart: Int
}

/// Why a rule was or was not taken, for `explain`.
package struct RuleVerdict: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable { case won, methodDiffers, pathDiffers, notReached }
  package let rule: Int
  package let outcome: Outcome
}

/// All services and their rules. First match decides and can say why.
package struct RuleSet: Sendable, Equatable {
  package let services: [Service]
  package let grants: [Grant]

  /// Checks nothing: `Configuration` has. Builds the index from listener and mount to service.
  package init(services: [Service], grants: [Grant]) { fatalError() }

  /// Judged under every reading: a difference between readings is `ambiguousPath`. `trace`, when not nil, gets every rule of the service with its outcome; the same code runs without.
  package func decide(
    _ request: AdmittedRequest, method: Method, methodName: Span<UInt8>, target: CanonicalTarget,
    trace: inout [RuleVerdict]?
  ) throws(PolicyRefusal) -> Route { fatalError() }

  /// Rules that can never win, because earlier rules of their service together cover them (methods included), with a request that shows it: replayed through `decide`, an earlier rule wins.
  package func shadowedRules() -> [ShadowedRule] { fatalError() }
}

package struct ShadowedRule: Sendable, Equatable {
  package let service: Int
  package let rule: Int
  /// The earlier rules that cover it.
  package let by: [Int]
  /// `GET`
  package let witnessMethod: String
  /// Path below the service's base, begins with `/`.
  package let witnessPath: String
}
