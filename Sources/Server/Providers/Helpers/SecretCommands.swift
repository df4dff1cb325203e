package import Configuration
internal import Credentials
internal import EventLoop
internal import Log
internal import Policy
package import Secrets
package import Settings
package import Generations
internal import StatusModel
internal import System
internal import Transport

/// Runs the commands that print secrets (T42): at startup, before a value expires, and again after a failure.
package final class SecretCommands {
  private unowned let providers: CredentialProviders
  private let secrets: CommandValues
  private let onChange: (SecretCommand) -> Void
  private let blocking: BlockingTasks
  private var jobs: [SecretCommand: CommandJob] = [:]
  private let timer: BootTimer
  private var alarm: ReadableSource?
  /// All runs whose processes have not been reaped, including cancelled runs.
  private var runs: [WeakRun] = []

  private struct WeakRun { weak var run: CommandRun? }

  package init(providers: CredentialProviders, onChange: @escaping (SecretCommand) -> Void) throws(StartError) {
    self.providers = providers
    self.onChange = onChange
    secrets = providers.generation.keyring.commandOutputs
    blocking = BlockingTasks(loop: providers.loop)
    do {
      timer = try BootTimer()
      alarm = try ReadableSource(loop: providers.loop, descriptor: timer.descriptor) { [unowned self] in
        checkDeadlines()
      }
    } catch {
      throw .system("\(error)")
    }
  }

  /// Runs the commands of this generation, and no others. Existing commands keep their value and schedule.
  package func update(to generation: Generation) {
    let wanted = generation.keyring.commands
    for (command, job) in jobs where !wanted.contains(command) {
      job.run?.cancel()
      jobs[command] = nil
      secrets.forget(command)
      onChange(command)
    }
    for command in wanted {
      if let job = jobs[command] { job.schedule.retryFailed() } else { jobs[command] = CommandJob(command) }
    }
    checkDeadlines()
  }

  /// Notifies a program of an upstream's verdict on its value, once per value and only if its format supports this.
  package func handleVerdict(on value: HelperValue, isAccepted: Bool) {
    let command = value.command
    guard let job = jobs[command], secrets.version(of: command) == value.version else { return }
    if isAccepted {
      guard command.format.isNotifiedOfSuccess, job.stored != value.version else { return }
      job.stored = value.version
      enqueue(.store, command, job)
    } else {
      guard command.format.isNotifiedOfRejection, job.rejected != value.version else { return }
      job.rejected = value.version
      reject(command, job)
    }
    checkDeadlines()
  }

  private func enqueue(_ verb: HelperRequest.Verb, _ command: SecretCommand, _ job: CommandJob) {
    do throws(CommandFailure) {
      job.messages.append(CommandJob.Message(verb, try secrets.request(verb, of: command)))
    } catch {
      reportUndelivered(verb, command, error.sentence)
    }
  }

  /// Makes the program run again, after it was notified that an upstream rejected its value.
  private func reject(_ command: SecretCommand, _ job: CommandJob) {
    job.run.take()?.cancel()
    job.currentMessage = nil
    job.messages = []
    if command.format.supportsErase { enqueue(.erase, command, job) }
    let isSoon = job.schedule.rejected(at: BootTimer.now)
    providers.log.event(
      .commandValueRejected, ("program", command.path),
      (
        "detail",
        command.format.supportsErase
          ? "bearerd tells the program to erase the value, and runs it again" : "bearerd runs the program again"
      ))
    change(command) { secrets in
      secrets.recordRejection(command)
      if !isSoon { secrets.fail(command, command.rejectedAgain) }
    }
  }

  package func stop() {
    for job in jobs.values { job.run?.cancel() }
    jobs = [:]
    alarm.take()?.close()
    providers.commands?.close()
  }

  package func close() {
    stop()
    for entry in runs { entry.run?.close() }
    runs = []
    blocking.close()
  }

  /// Does all work that is due: expires values, ends runs that take too long, and starts runs.
  private func checkDeadlines() {
    let now = BootTimer.now
    for (command, job) in jobs {
      if let expiry = job.schedule.expiry, expiry <= now { expire(command, job) }
      if job.isUnderWay {
        if job.startedAt &+ command.timeout <= now { timeOut(command, job) }
      } else if job.check == .none, job.nextRun.map({ $0 <= now }) ?? false {
        check(command, job, now: now)
      }
    }
    reschedule()
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
      reschedule()
    }
  }

  private func start(_ command: SecretCommand, _ job: CommandJob, _ checked: Result<CheckedCommand, CommandFailure>) {
    job.currentMessage = job.messages.isEmpty ? nil : job.messages.removeFirst()
    do throws(CommandFailure) {
      let run: CommandRun
      if let message = job.currentMessage {
        run = try self.run(try checked.get(), message.request, job)
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
      checkDeadlines()
    }
  }

  private func ended(_ command: SecretCommand, _ job: CommandJob, _ result: CommandRun.Result) {
    if let message = job.currentMessage {
      job.currentMessage = nil
      return ended(message, of: command, result)
    }
    change(command) { secrets in
      let isGood: Bool
      switch result {
      case .printed(let process): isGood = secrets.store(command, from: process, for: providers.generation.keyring)
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

  /// Logs if a program could not handle a message.
  private func ended(_ message: CommandJob.Message, of command: SecretCommand, _ result: CommandRun.Result) {
    if case .failed(let sentence) = result { reportUndelivered(message.verb, command, sentence) }
  }

  private func reportUndelivered(_ verb: HelperRequest.Verb, _ command: SecretCommand, _ sentence: String) {
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

  private func reschedule() {
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
