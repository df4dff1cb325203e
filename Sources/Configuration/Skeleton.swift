package import Policy

/// `file:line:column`, the line, a caret, one sentence, a suggestion.
package struct Diagnostic: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Severity: String, Sendable { case error, warning, advice }
  package let severity: Severity
  package let file: String
  /// From 1; 0: about the file as a whole.
  package let line: Int
  package let column: Int
  /// How many columns the caret underlines.
  package let length: Int
  package let message: String
  /// `did you mean "origins"?`, or lines to add.
  package let help: String?
  package let sourceLine: String?
  package var description: String { fatalError() }
}

/// Where a value of a credential comes from, and what it writes: names and paths, never a secret. Mirrors `Credentials.AuthScheme`.
package struct CredentialSettings: Sendable, Equatable {
  package indirect enum Source: Sendable, Equatable { case file(String), systemd(String), env(String) }
  package enum Value: Sendable, Equatable { case plain(String), secret(Source) }
  package struct Header: Sendable, Equatable {
    package let name: String
    package let prefix: String
    package let value: Value
  }
  package enum Scheme: Sendable, Equatable {
    case bearer(Source)
    case basic(user: Value, password: Source)
    case headers([Header])
  }
  package let name: String
  package let scheme: Scheme
  package let line: Int
}

package struct ListenerSettings: Sendable, Equatable {
  package enum Address: Sendable, Equatable {
    /// 127.0.0.1 and ::1
    case localhost(port: UInt16)
    case tcp(IPAddress, port: UInt16)
    case unix(path: String, mode: UInt32)
  }
  package let name: String
  package let addresses: [Address]
  package let callers: Callers
  /// Extra names of `hosts:` and of host-mounted services: authorities with port, lower-case. The listener's own names are added when its port is known (port 0 in tests).
  package let extraAuthorities: [String]
}

package struct Limits: Sendable, Equatable {
  package var headBytes = 65_536
  package var fields = 128
  package var targetBytes = 16_384
  package var connections = 16_384
  package var idlePerIdentity = 64
  /// Milliseconds.
  package var clientHead: UInt64 = 30_000
  package var clientIdle: UInt64 = 600_000
  package var upstreamIdle: UInt64 = 60_000
  package var drain: UInt64 = 30_000
  package var revokedGrace: UInt64 = 30_000
}

/// A whole configuration, already valid. Immutable; names credentials, holds none.
package struct Settings: Sendable, Equatable {
  package let file: String
  package let listeners: [ListenerSettings]
  /// Same order as `rules.grants`.
  package let credentials: [CredentialSettings]
  package let rules: RuleSet
  package let limits: Limits
  package let requireLockedMemory: Bool
  package let controlSocket: String?
}

package struct ConfigurationReader {
  /// Facts of the machine that the reader needs and tests replace.
  package struct Environment: Sendable {
    package var uid: UInt32
    package var userID: @Sendable (String) -> UInt32?
    package var groupMembers: @Sendable (String) -> Set<UInt32>?
    /// Owner, mode, whether regular; nil: does not exist.
    package var fileStatus: @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?
    package var readFile: @Sendable (String) -> [UInt8]?
    package var hasIPv6: Bool
  }
  /// All errors of the file in one go, or settings with warnings.
  package static func read(text: [UInt8], file: String, environment: Environment) -> Result<(Settings, warnings: [Diagnostic]), ConfigurationErrors> { fatalError() }
}

package struct ConfigurationErrors: Error, Sendable {
  /// In the order of the file; at least one of severity error.
  package let diagnostics: [Diagnostic]
}
