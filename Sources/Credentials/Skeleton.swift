package import Policy
package import TLS

/// A plain connection to a literal loopback address, or any other session without proof, is of another type: `authorize` does not accept it.
package struct Denied: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// The secret is missing, empty or unusable; `detail` says which source and what to do, never a byte of it.
    case unavailable
    case originNotGranted
    case callerNotGranted
    case pinsNotMatched
    case wrongSession
    case unknownGrant
    case sessionFailed(TLSError)
  }
  package let reason: Reason
  package let detail: String
  package var description: String { fatalError() }
}

/// Where a value comes from. Names and paths only.
package enum SecretSource: Sendable, Equatable {
  case file(String)
  /// File of this name below $CREDENTIALS_DIRECTORY.
  case systemd(String)
  case env(String)
}

package enum FieldValue: Sendable, Equatable {
  case plain(String)
  case secret(SecretSource)
}

/// What a credential writes: fields with their values.
package enum AuthScheme: Sendable, Equatable {
  case bearer(SecretSource)
  case basic(user: FieldValue, password: SecretSource)
  case headers([HeaderTemplate])
}

package struct HeaderTemplate: Sendable, Equatable {
  package let name: String
  package let prefix: String
  package let value: FieldValue
  package init(name: String, prefix: String, value: FieldValue) {
    self.name = name
    self.prefix = prefix
    self.value = value
  }
}

/// All credentials of one configuration: the only holder of secrets, and the only door.
package final class Keyring {
  package struct Entry: Sendable {
    package let grant: Grant
    package let scheme: AuthScheme
    package init(grant: Grant, scheme: AuthScheme) {
      self.grant = grant
      self.scheme = scheme
    }
  }
  package struct Status: Sendable, Equatable {
    /// Counts up each time the secret's bytes change; 0: never loaded.
    package let generation: UInt64
    /// nil: fine; else why it is not available (one sentence with what to do).
    package let problem: String?
  }

  /// Reads every source. Missing secrets are no error: see `status`.
  package init(entries: [Entry], requireLockedMemory: Bool) throws(Denied) { fatalError() }
  package var grantCount: Int { fatalError() }
  package func status(ofGrant index: Int) -> Status { fatalError() }
  /// False when memory could not be locked.
  package var isLocked: Bool { fatalError() }
  /// Directories to watch for changed secret files.
  package var directories: [String] { fatalError() }
  /// Reads again the secrets whose files are in these directories. Keeps the last good value when a new one is unusable (and says so in `status.problem`); a deleted file makes it unavailable. Returns indices of grants that changed.
  package func reload(directories: Set<String>) -> [Int] { fatalError() }

  /// The door. Writes the staged head (a complete head but for the closing CRLF), the credential's fields, CRLF, and `body`, in one TLS record where they fit;
  /// if and only if the grant names the session's origin and this caller, and the session's proof is what the grant demands.
  package func authorize(
    grant index: Int, head: Span<UInt8>, body: Span<UInt8>, caller: Caller, over session: inout VerifiedSession
  ) throws(Denied) { fatalError() }
}
