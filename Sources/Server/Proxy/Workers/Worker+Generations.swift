package import Audit
package import Configuration
internal import Credentials
internal import EventLoop
package import Gateway
internal import Log
internal import Policy
internal import Providers
package import Setup
internal import System

/// The part of a configuration that every worker gets when it comes into use. The rest it makes for itself.
package struct Installation: Sendable {
  let preparation: Preparation
  let snapshot: Snapshot
  let limits: SharedLimits
  let audit: AuditWriter?
  let requiredAudit: AuditWriter?

  package init(
    preparation: Preparation, snapshot: Snapshot, limits: SharedLimits, audit: AuditWriter?,
    requiredAudit: AuditWriter?
  ) {
    self.preparation = preparation
    self.snapshot = snapshot
    self.limits = limits
    self.audit = audit
    self.requiredAudit = requiredAudit
  }
}

/// A configuration comes into use in two steps: first every worker makes what may fail, its credentials; if all of them have
/// them, nothing is left that could.
extension Worker {
  /// Reads the files that a configuration names, and makes its keyring. `onEnd` is called on a later turn, with what is in
  /// the way.
  /// - Parameter loggedOut: credentials that were logged out since the reload began.
  package func prepare(_ preparation: Preparation, loggedOut: Set<String>, onEnd: @escaping (StartError?) -> Void) {
    providers.loggedOutMeanwhile = loggedOut
    let make = { [unowned self] in
      // Meanwhile it may have been stopped.
      guard !isDraining else { return onEnd(.system("bearerd is stopping")) }
      do throws(AuthorizationError) {
        let draft = try GenerationBuilder(
          preparation, files: generation.keyring.fileContents, loggedOut: providers.loggedOutMeanwhile,
          after: generation)
        providers.prepared = draft
        loop.inPieces { [weak self] hasTime in self?.goOn(draft, while: hasTime, onEnd: onEnd) ?? true }
      } catch {
        onEnd(.system(error.description))
      }
    }
    guard let secrets = providers.secrets else { return make() }
    secrets.read(preparation.tables.secretFiles, onEnd: make)
  }

  private func goOn(
    _ draft: GenerationBuilder, while hasTime: () -> Bool, onEnd: (StartError?) -> Void
  ) -> Bool {
    guard !isDraining else {
      onEnd(.system("bearerd is stopping"))
      return true
    }
    loop.note(.reload)
    do throws(AuthorizationError) {
      guard try draft.goOn(pending: providers.secrets?.pending ?? [], while: hasTime) else { return false }
      onEnd(nil)
    } catch {
      onEnd(.system(error.description))
    }
    return true
  }

  /// Drops what was prepared: it will not be used.
  package func discardPrepared() {
    providers.prepared = nil
    providers.secrets?.follow(generation)
  }

  /// Puts what was prepared into use.
  package func install(_ next: Installation) {
    guard let draft = providers.prepared, let keyring = draft.keyring.keyring else { return }
    loop.note(.reload)
    providers.prepared = nil
    log.use(audit: next.audit, required: next.requiredAudit)
    let generation = Generation(
      next.preparation, snapshot: next.snapshot, keyring: keyring, tally: Tally(draft.tally), limits: next.limits,
      deferredRelease: deferredRelease)
    adopt(generation)
    providers.secrets?.follow(generation)
  }
}
