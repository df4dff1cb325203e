@_spi(SecretBytes) package import Secrets
internal import HelperOutput
package import Settings
package import System

extension CommandValues {
  /// Replaces the command's value with the output of a finished run. Returns `false`, and keeps the value, if the
  /// output is unusable.
  /// - Parameters:
  ///   - keyring: checks the output for each of its credentials that uses the command.
  ///   - now: seconds since 1970.
  package func store(
    _ command: SecretCommand, from process: HelperProcess, for keyring: Keyring, now: Int64 = Clock.now.seconds
  ) -> Bool {
    store(command, from: process) { (output, arena) throws(SecretProblem) in
      let value = try HelperOutputReader(command: command, arena: arena, now: now).read(output)
      try check(value, of: command, for: keyring)
      return value
    }
  }

  private func check(
    _ value: borrowing SourceValue, of command: SecretCommand, for keyring: Keyring
  ) throws(SecretProblem) {
    let name = SecretSource.command(command).name
    for form in keyring.forms(of: .command(command)) {
      if value.isToken, form == .text {
        throw SecretProblem("\(name) is an identity token, but a password is needed")
      }
      try value.secret.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
    }
    for form in keyring.forms(of: .userOfCommand(command)) {
      switch value.user {
      case .none: throw SecretProblem("\(name) has no user name, but one is needed")
      case .some(let user): try user.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
      }
    }
  }
}
