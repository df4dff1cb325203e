internal import Configuration
package import Credentials
package import Gateway
package import Secrets

/// The part of a configuration to come that one worker makes for itself, piece by piece.
package final class GenerationBuilder {
  package let keyring: KeyringBuilder
  package let tally: TallyBuilder

  /// - Parameters:
  ///   - loggedOut: credentials whose value it does not take over.
  ///   - previous: what it is to replace; nil: this is the first one, of files that have been read.
  package init(
    _ preparation: Preparation, files: FileValues, loggedOut: Set<String> = [], after previous: Generation?
  ) throws(AuthorizationError) {
    let (settings, tables) = (preparation.settings, preparation.tables)
    let current = previous?.keyring
    keyring = try KeyringBuilder(
      tables.keyring, requireLockedMemory: settings.requireLockedMemory,
      commands: current?.commandOutputs ?? CommandValues(), files: files,
      tokens: current?.tokenValues ?? TokenValues(), loggedOut: loggedOut, after: current)
    tally = TallyBuilder(settings.rules, tables.tally, after: previous?.tally)
  }

  /// Makes some of it, and more as long as there is time. True: it is whole.
  /// - Parameter pending: files that are being read.
  package func goOn(pending: Set<SecretSource>, while hasTime: () -> Bool) throws(AuthorizationError) -> Bool {
    guard tally.goOn(while: hasTime) else { return false }
    return try keyring.goOn(pending: pending, while: hasTime)
  }
}
