internal import Policy
package import Settings

/// Identifies one value of a helper program.
package struct HelperValue: Sendable, Equatable {
  package let command: SecretCommand
  /// Version of the value. The same in all workers.
  package let version: UInt64

  package init(command: SecretCommand, version: UInt64) {
    self.command = command
    self.version = version
  }
}

extension SecretCommand {
  /// Whether the program is notified when an upstream accepts or rejects its value.
  package var wantsFeedback: Bool { format.isNotifiedOfRejection || format.isNotifiedOfSuccess }
}
