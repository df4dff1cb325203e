internal import Secrets
internal import Settings

/// The state of a configured command.
final class CommandJob {
  /// The state of the check of the program's file before a run (T55). After `tooLong`, the run has failed.
  enum Check { case none, underWay, tooLong }

  /// A message that tells the program to store or erase a value.
  final class Message {
    let verb: HelperRequest.Verb
    let request: HelperRequest

    init(_ verb: HelperRequest.Verb, _ request: consuming HelperRequest) {
      self.verb = verb
      self.request = request
    }
  }

  var schedule: CommandSchedule
  var check = Check.none
  var run: CommandRun?
  var messages: [Message] = []
  /// The message that the run in progress delivers. `nil` if the run is a `get`.
  var currentMessage: Message?
  /// Version of the last value that an upstream rejected.
  var rejected: UInt64 = 0
  var stored: UInt64 = 0
  var startedAt: UInt64 = 0

  var isUnderWay: Bool { run != nil || check == .underWay }
  var nextRun: UInt64? { messages.isEmpty ? schedule.nextRun : 0 }

  init(_ command: SecretCommand) { schedule = CommandSchedule(command) }
}
