internal import Secrets

/// The state of a command of the configuration: when it runs, what runs of it, and what it is to hear.
final class CommandJob {
  /// The check of the program, ahead of each run. It may take as long as the program's file system takes (T55).
  enum Check { case none, underWay, tooLong }

  /// A message to a program about a value, as that was then.
  final class Errand {
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
  /// Messages that its program is to hear ahead of the next run, in this order; and the one at the moment, if that is no `get`.
  var errands: [Errand] = []
  var errand: Errand?
  /// The last answers that it heard of.
  var rejected: UInt64 = 0
  var stored: UInt64 = 0
  var startedAt: UInt64 = 0

  var isUnderWay: Bool { run != nil || check == .underWay }
  var nextRun: UInt64? { errands.isEmpty ? schedule.nextRun : 0 }

  init(_ command: SecretCommand) { schedule = CommandSchedule(command) }
}
