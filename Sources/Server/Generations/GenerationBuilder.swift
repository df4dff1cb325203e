package import Credentials
package import Gateway
package import Secrets
package import Settings

/// Builds one worker's part of a new configuration in small steps.
package final class GenerationBuilder {
  package let keyring: KeyringBuilder
  package let tally: TallyBuilder

  /// - Parameters:
  ///   - loggedOut: credentials that start without a value.
  ///   - previous: the generation to replace. `nil` at the start.
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

  /// Continues building while `hasTime` returns `true`. Returns whether everything is built.
  /// - Parameter pending: secret files that are still being read.
  package func build(pending: Set<SecretSource>, while hasTime: () -> Bool) throws(AuthorizationError) -> Bool {
    guard tally.advance(while: hasTime) else { return false }
    return try keyring.build(pending: pending, while: hasTime)
  }
}
