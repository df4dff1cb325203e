/// The place of a service on its listener.
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
  /// The parts of its answers that are searched for the credential that was added.
  package var redact = Redact.errors
  /// Whether a response head that is not clean is repaired where that is unambiguous. `false` refuses the response.
  package var repairsResponses = true
  /// How often one caller may ask; nil: as often as it likes.
  package var rate: Rate?
  /// To which protocols its connections may switch.
  package var upgrades = [UpgradeProtocol.websocket]
  /// A program that logs in on its connection (NTLM, Negotiate) has the upstream's to itself; else no such login lasts.
  package var dedicatesConnections = false
  /// Whether its connections are used again after the body of a method that defines one, as POST. False: after no body at all.
  package var reusesAfterBody = true

  /// The app's answer when the upstream rejects our credential.
  package enum OnRejected: String, Sendable { case pass, badGateway = "502" }

  /// `headers`: heads and trailers; `errors`: bodies of 4xx and 5xx, too; `all`: every body, and what follows an upgrade.
  package enum Redact: String, Sendable { case off, headers, errors, all }

  package init(name: String, listener: Int, mount: Mount, upstream: Upstream, credential: CredentialChoice) {
    self.name = name
    self.listener = listener
    self.mount = mount
    self.upstream = upstream
    self.credential = credential
  }
}
