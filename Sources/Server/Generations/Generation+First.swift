package import Configuration
internal import Credentials
package import Gateway
package import Secrets
package import Settings

extension Generation {
  /// Creates the first generation of a worker.
  /// - Parameters:
  ///   - files: the contents of the secret files.
  ///   - changing: files that will be read again.
  package convenience init(
    first preparation: Preparation, files: FileValues, changing: Set<SecretSource>, snapshot: Snapshot,
    limits: SharedLimits,
    deferredRelease: DeferredRelease
  ) throws(StartError) {
    do throws(AuthorizationError) {
      let draft = try GenerationBuilder(preparation, files: files, after: nil)
      _ = try draft.build(pending: changing) { true }
      guard let keyring = draft.keyring.keyring else { preconditionFailure("there was time for all of it") }
      self.init(
        preparation, snapshot: snapshot, keyring: keyring, tally: Tally(draft.tally), limits: limits,
        deferredRelease: deferredRelease)
    } catch {
      throw .system(error.description)
    }
  }
}
