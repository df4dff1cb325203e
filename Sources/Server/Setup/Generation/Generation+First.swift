package import Configuration
internal import Credentials
package import Gateway
package import Secrets

extension Generation {
  /// The first generation, which is made at once: no client is served yet.
  /// - Parameters:
  ///   - files: what the start has read.
  ///   - changing: of these, files that are being written, and will be read again.
  package convenience init(
    first preparation: Preparation, files: FileValues, changing: Set<SecretSource>, snapshot: Snapshot,
    limits: SharedLimits,
    deferredRelease: DeferredRelease
  ) throws(StartError) {
    do throws(AuthorizationError) {
      let draft = try GenerationBuilder(preparation, files: files, after: nil)
      _ = try draft.goOn(pending: changing) { true }
      guard let keyring = draft.keyring.keyring else { preconditionFailure("there was time for all of it") }
      self.init(
        preparation, snapshot: snapshot, keyring: keyring, tally: Tally(draft.tally), limits: limits,
        deferredRelease: deferredRelease)
    } catch {
      throw .system(error.description)
    }
  }
}
