internal import Audit
internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy
internal import System

/// What every worker gets of a configuration that will be used. The rest it makes for itself.
struct Installation: Sendable {
  let preparation: Preparation
  let snapshot: Snapshot
  let limits: SharedLimits
  let audit: AuditWriter?
  let requiredAudit: AuditWriter?
  let entrances: [Row]

  struct Row: Sendable {
    let id: UInt64
    let name: String
    let index: Int

    init(_ slot: ListenerSlot) { (id, name, index) = (slot.entrance.id, slot.entrance.name, slot.entrance.index) }
  }
}

/// A configuration comes into use in two steps: first every worker makes what may fail, its credentials; if all of them have
/// them, nothing is left that could.
extension Worker {
  /// Reads the files that a configuration names, and makes its keyring. `onEnd` is called on a later turn, with what is in
  /// the way.
  /// - Parameter loggedOut: credentials that somebody has logged out since the reload began.
  func prepare(_ preparation: Preparation, loggedOut: Set<String>, onEnd: @escaping (StartError?) -> Void) {
    loggedOutMeanwhile = loggedOut
    loop.note(.reload)
    let files = ConfigurationLoader.secretFiles(of: preparation.settings)
    let make = { [unowned self] in
      // Meanwhile it may have been stopped.
      guard !isDraining else { return onEnd(.system("bearerd is stopping")) }
      loop.note(.reload)
      do throws(Denied) {
        let current = generation.keyring
        let next = try ConfigurationLoader.keyring(
          for: preparation.settings, commands: current.commandOutputs, files: current.fileContents,
          tokens: current.tokenValues,
          pending: secrets?.pending ?? [], after: current)
        for credential in loggedOutMeanwhile { next.logOut(credential, isCurrent: false) }
        prepared = next
        onEnd(nil)
      } catch {
        onEnd(.system(error.description))
      }
    }
    guard let secrets else { return make() }
    secrets.read(files, onEnd: make)
  }

  /// It will not be used.
  func forgetPrepared() {
    prepared = nil
    secrets?.follow(generation)
  }

  /// What was prepared is in use from now on.
  func install(_ next: Installation, entrances: [Entrance]) {
    guard let keyring = prepared else { return }
    loop.note(.reload)
    prepared = nil
    journal.audit = next.audit
    journal.requiredAudit = next.requiredAudit
    let generation = Generation(next, keyring: keyring, after: generation)
    adopt(generation, entrances: entrances)
    secrets?.follow(generation)
  }
}

extension Generation {
  convenience init(_ next: Installation, keyring: Keyring, after previous: Generation?) {
    self.init(
      settings: next.preparation.settings, snapshot: next.snapshot, keyring: keyring, trust: next.preparation.trust,
      limits: next.limits, after: previous)
  }
}
