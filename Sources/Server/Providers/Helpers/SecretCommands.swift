package import Configuration
internal import Credentials
internal import EventLoop
internal import Log
internal import Policy
package import Secrets
package import Setup
internal import System
internal import Transport

/// Runs the commands that secrets come from (T42): at the start, ahead of the end of each value's time, and again after a
/// failure. Each on its own, one run at a time, beside the loop.
package final class SecretCommands {
  private unowned let providers: CredentialProviders
  private let secrets: CommandValues
  private let onChange: (SecretCommand) -> Void
  private let blocking: BlockingTasks
  private var jobs: [SecretCommand: CommandJob] = [:]
  private let timer: BootTimer
  private var alarm: ReadableSource?
  /// All that are not over, which may be more than the jobs': what was killed is still to be reaped. Weak, since what one
  /// has printed shall go with it.
  private var runs: [WeakRun] = []

  private struct WeakRun { weak var run: CommandRun? }

  /// - Parameter onChange: one of them stands otherwise now.
  package init(providers: CredentialProviders, onChange: @escaping (SecretCommand) -> Void) throws(StartError) {
    self.providers = providers
    self.onChange = onChange
    secrets = providers.generation.keyring.commandOutputs
    blocking = BlockingTasks(loop: providers.loop)
    do {
      timer = try BootTimer()
      alarm = try ReadableSource(loop: providers.loop, descriptor: timer.descriptor) { [unowned self] in look() }
    } catch {
      throw .system("\(error)")
    }
  }

  /// Runs this generation's commands, and no others. One that was there before keeps its value and its times, unless it has
  /// failed: then it is tried at once.
  package func follow(_ generation: Generation) {
    let wanted = generation.keyring.commands
    for (command, job) in jobs where !wanted.contains(command) {
      job.run?.cancel()
      jobs[command] = nil
      secrets.forget(command)
      onChange(command)
    }
    for command in wanted {
      if let job = jobs[command] { job.schedule.hurry() } else { jobs[command] = CommandJob(command) }
    }
    look()
  }

  /// An upstream has accepted or rejected what a command gave. One that wants to hear of it does so once for each answer.
  package func heard(_ value: HelperValue, isAccepted: Bool) {
    let command = value.command
    guard let job = jobs[command], secrets.number(of: command) == value.number else { return }
    if isAccepted {
      guard command.format.hearsSuccess, job.stored != value.number else { return }
      job.stored = value.number
      plan(.store, command, job)
    } else {
      guard command.format.hearsRejections, job.rejected != value.number else { return }
      job.rejected = value.number
      reject(command, job)
    }
    look()
  }

  private func plan(_ verb: HelperRequest.Verb, _ command: SecretCommand, _ job: CommandJob) {
    do throws(CommandFailure) {
      job.errands.append(CommandJob.Errand(verb, try secrets.request(verb, of: command)))
    } catch {
      notTold(verb, command, error.sentence)
    }
  }

  /// Asks a program anew once it has heard of the rejection: a run under way may bring the same value.
  private func reject(_ command: SecretCommand, _ job: CommandJob) {
    job.run?.cancel()
    job.run = nil
    job.errand = nil
    job.errands = []
    if command.format.forgets { plan(.erase, command, job) }
    let isSoon = job.schedule.rejected(at: BootTimer.now)
    providers.log.event(
      .commandValueRejected, ("program", command.path),
      (
        "detail",
        command.format.forgets
          ? "bearerd tells the program to erase the value, and runs it again" : "bearerd runs the program again"
      ))
    change(command) { secrets in
      secrets.await(command)
      if !isSoon { secrets.fail(command, command.rejectedAgain) }
    }
  }

  /// Nothing runs any more, nor will.
  package func stop() {
    for job in jobs.values { job.run?.cancel() }
    jobs = [:]
    alarm?.close()
    alarm = nil
    providers.commands?.close()
  }

  /// The loop ends.
  package func close() {
    stop()
    for entry in runs { entry.run?.close() }
    runs = []
    blocking.close()
  }

  /// Does whatever is due.
  private func look() {
    let now = BootTimer.now
    for (command, job) in jobs {
      if let expiry = job.schedule.expiry, expiry <= now { expire(command, job) }
      if job.isUnderWay {
        if job.startedAt &+ command.timeout <= now { timeOut(command, job) }
      } else if job.check == .none, job.nextRun.map({ $0 <= now }) ?? false {
        check(command, job, now: now)
      }
    }
    settle()
  }

  private func timeOut(_ command: SecretCommand, _ job: CommandJob) {
    if let run = job.run { return run.timeOut() }
    job.check = .tooLong
    ended(command, job, .failed(command.tooSlowToCheck))
  }

  private func check(_ command: SecretCommand, _ job: CommandJob, now: UInt64) {
    job.startedAt = now
    job.check = .underWay
    blocking.run { () -> Result<CheckedCommand, CommandFailure> in
      do throws(CommandFailure) { return .success(try CheckedCommand(command)) } catch { return .failure(error) }
    } onEnd: { [unowned self] result in
      let isInTime = job.check == .underWay
      job.check = .none
      guard jobs[command] === job else { return }
      let noThread = CommandFailure("bearerd cannot start a thread to check \(command.path)")
      if isInTime { start(command, job, result ?? .failure(noThread)) }
      settle()
    }
  }

  private func start(_ command: SecretCommand, _ job: CommandJob, _ checked: Result<CheckedCommand, CommandFailure>) {
    job.errand = job.errands.isEmpty ? nil : job.errands.removeFirst()
    do throws(CommandFailure) {
      let run: CommandRun
      if let errand = job.errand {
        run = try self.run(try checked.get(), errand.request, job)
      } else {
        run = try self.run(try checked.get(), try secrets.request(.get, of: command), job)
      }
      job.run = run
      runs.append(WeakRun(run: run))
    } catch {
      ended(command, job, .failed(error.sentence))
    }
  }

  private func run(
    _ checked: CheckedCommand, _ request: borrowing HelperRequest, _ job: CommandJob
  ) throws(CommandFailure) -> CommandRun {
    try CommandRun(checked, request, mustLock: secrets.mustLock, loop: providers.loop) {
      [unowned self, unowned job] result in
      job.run = nil
      ended(checked.command, job, result)
      look()
    }
  }

  private func ended(_ command: SecretCommand, _ job: CommandJob, _ result: CommandRun.Result) {
    if let errand = job.errand {
      job.errand = nil
      return ended(errand, of: command, result)
    }
    change(command) { secrets in
      let isGood: Bool
      switch result {
      case .printed(let process): isGood = secrets.take(command, from: process, for: providers.generation.keyring)
      case .failed(let sentence):
        secrets.fail(command, sentence)
        isGood = false
      }
      let now = BootTimer.now
      if isGood {
        let lifetime = secrets.expiry(of: command).map { SourceValue.lifetime(until: $0, now: Clock.now) }
        job.schedule.succeeded(startedAt: job.startedAt, endedAt: now, lifetime: lifetime)
      } else {
        job.schedule.failed(endedAt: now)
      }
    }
  }

  /// Ends a message to a program: its output is not read, and how it ends changes no value.
  private func ended(_ errand: CommandJob.Errand, of command: SecretCommand, _ result: CommandRun.Result) {
    switch result {
    case .printed: break
    case .failed(let sentence): notTold(errand.verb, command, sentence)
    }
  }

  private func notTold(_ verb: HelperRequest.Verb, _ command: SecretCommand, _ sentence: String) {
    providers.log.event(.commandNotTold, ("program", command.path), ("verb", "\(verb)"), ("detail", sentence))
  }

  private func expire(_ command: SecretCommand, _ job: CommandJob) {
    change(command) { secrets in
      job.schedule.expired()
      secrets.expire(command)
    }
  }

  private func change(_ command: SecretCommand, _ change: (CommandValues) -> Void) {
    providers.commands?.change(command, change)
    onChange(command)
  }

  private func settle() {
    runs.removeAll { $0.run == nil }
    let times = jobs.flatMap { command, job in
      [
        job.schedule.expiry,
        job.isUnderWay ? job.startedAt &+ command.timeout : job.check == .none ? job.nextRun : nil,
      ]
    }
    timer.set(at: times.compactMap(\.self).min())
    providers.commands?.endWaits()
  }
}
