@_spi(SecretBytes) package import Secrets
package import System

extension CommandValues {
  /// Takes what a run has printed in the place of what is there.
  /// - Parameters:
  ///   - keyring: whose credentials it has to be fit for, each in its place.
  ///   - now: seconds since 1970.
  /// - Returns: false if it is unusable: what is there stays.
  package func take(
    _ command: SecretCommand, from process: HelperProcess, for keyring: Keyring, now: Int64 = Clock.now.seconds
  ) -> Bool {
    take(command, from: process, now: now) { (answer) throws(SecretProblem) in
      try check(answer, of: command, for: keyring)
    }
  }

  private func check(
    _ answer: borrowing SourceValue, of command: SecretCommand, for keyring: Keyring
  ) throws(SecretProblem) {
    let name = SecretSource.command(command).name
    for form in keyring.forms(of: .command(command)) {
      if answer.isToken, form == .text {
        throw SecretProblem("\(name) is an identity token, but a password is needed")
      }
      try answer.secret.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
    }
    for form in keyring.forms(of: .userOfCommand(command)) {
      switch answer.user {
      case .none: throw SecretProblem("\(name) has no user name, but one is needed")
      case .some(let user): try user.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
      }
    }
  }
}
