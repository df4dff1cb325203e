package import Audit
package import Configuration
internal import Credentials
internal import EventLoop
package import Gateway
internal import Log
internal import Policy
internal import Providers
package import Generations
internal import System

/// The part of a new configuration that all workers share.
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

/// Applies a new configuration in two steps: all workers prepare, which can fail, and then all install, which cannot
/// fail.
extension Worker {
  /// Reads the secret files of a new configuration, and builds its keyring. Then calls `onEnd` with an error, or `nil`.
  /// - Parameter loggedOut: credentials that were logged out since the reload began.
  package func prepare(_ preparation: Preparation, loggedOut: Set<String>, onEnd: @escaping (StartError?) -> Void) {
    providers.loggedOutSinceReload = loggedOut
    let make = { [unowned self] in
      // The worker may have been stopped in the meantime.
      guard !isDraining else { return onEnd(.system("bearerd is stopping")) }
      do throws(AuthorizationError) {
        let draft = try GenerationBuilder(
          preparation, files: generation.keyring.fileContents, loggedOut: providers.loggedOutSinceReload,
          after: generation)
        providers.prepared = draft
        loop.runIncrementally { [weak self] hasTime in
          self?.continueBuilding(draft, while: hasTime, onEnd: onEnd) ?? true
        }
      } catch {
        onEnd(.system(error.description))
      }
    }
    guard let secrets = providers.secrets else { return make() }
    secrets.read(preparation.tables.secretFiles, onEnd: make)
  }

  private func continueBuilding(
    _ draft: GenerationBuilder, while hasTime: () -> Bool, onEnd: (StartError?) -> Void
  ) -> Bool {
    guard !isDraining else {
      onEnd(.system("bearerd is stopping"))
      return true
    }
    loop.renameStep(.reload)
    do throws(AuthorizationError) {
      guard try draft.build(pending: providers.secrets?.pending ?? [], while: hasTime) else { return false }
      onEnd(nil)
    } catch {
      onEnd(.system(error.description))
    }
    return true
  }

  package func discardPrepared() {
    providers.prepared = nil
    providers.secrets?.update(to: generation)
  }

  package func install(_ next: Installation) {
    guard let draft = providers.prepared, let keyring = draft.keyring.keyring else { return }
    loop.renameStep(.reload)
    providers.prepared = nil
    log.use(audit: next.audit, required: next.requiredAudit)
    let generation = Generation(
      next.preparation, snapshot: next.snapshot, keyring: keyring, tally: Tally(draft.tally), limits: next.limits,
      deferredRelease: deferredRelease)
    adopt(generation)
    providers.secrets?.update(to: generation)
  }
}
