internal import Policy

/// Which of a command's answers a request went out with.
package struct HelperValue: Sendable, Equatable {
  package let command: SecretCommand
  /// The same for the same answer in every worker.
  package let number: UInt64

  package init(command: SecretCommand, number: UInt64) {
    self.command = command
    self.number = number
  }
}

extension SecretCommand {
  /// Whether it is to hear what upstreams think of what it gave.
  package var isListener: Bool { format.hearsRejections || format.hearsSuccess }
}
