internal import Policy

/// The answer of a command with which a request went out.
package struct HelperValue: Sendable, Equatable {
  package let command: SecretCommand
  /// Identifies the answer; equal in all workers that have it.
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
