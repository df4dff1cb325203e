package import System

/// What commands have printed (T42). Kept here for the keyrings of later configurations, which need not run them again.
package final class CommandSecrets {
  private let arena = SecretArena()
  private var all: [SecretCommand: Kept] = [:]

  private final class Kept {
    var answer: HelperAnswer?
    /// Of the answer: counts up each time that it is another one.
    var number: UInt64 = 0
    /// Of the last run; nil: it was fine.
    var failure: String?
    var standing = Standing.good
  }

  /// Of an answer.
  private enum Standing {
    /// It counts.
    case good
    /// An upstream has rejected it. It is kept to know whether it comes again.
    case rejected
    /// The same, and the next run follows at once: whoever wants what it says waits.
    case awaited
  }

  package init() {}

  /// What a program prints is read into locked memory, or not at all.
  package internal(set) var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  /// False when memory could not be locked.
  package private(set) var isLocked = true

  /// Whether its first run, or the first one after a rejection, has not ended yet.
  package func isAwaited(_ command: SecretCommand) -> Bool { (all[command]?.standing ?? .awaited) == .awaited }

  /// Takes what a run has printed in the place of what is there.
  /// - Parameters:
  ///   - keyring: whose credentials it has to be fit for, each in its place.
  ///   - now: seconds since 1970.
  /// - Returns: false if it is unusable: what is there stays.
  package func take(
    _ command: SecretCommand, from process: HelperProcess, for keyring: Keyring, now: Int64 = Clock.now.seconds
  ) -> Bool {
    if !process.isLocked { isLocked = false }
    do throws(SecretProblem) {
      let reader = HelperAnswerReader(command: command, arena: arena, now: now)
      let answer = try process.withOutput { (bytes) throws(SecretProblem) in try reader.read(bytes) }
      try check(answer, of: command, for: keyring)
      keep(answer, in: kept(command))
      if !arena.isLocked { isLocked = false }
      return true
    } catch {
      fail(command, error.sentence)
      return false
    }
  }

  private func check(
    _ answer: borrowing HelperAnswer, of command: SecretCommand, for keyring: Keyring
  ) throws(SecretProblem) {
    let name = SecretSource.command(command).name
    for form in keyring.forms(of: .command(command)) {
      if answer.isToken, form == .text {
        throw SecretProblem("\(name) is an identity token, where a password is wanted")
      }
      try answer.secret.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
    }
    for form in keyring.forms(of: .userOfCommand(command)) {
      switch answer.user {
      case .none: throw SecretProblem("\(name) names no user, and one is wanted")
      case .some(let user): try user.withBytes { (bytes) throws(SecretProblem) in try form.check(bytes, name: name) }
      }
    }
  }

  private func keep(_ answer: consuming HelperAnswer, in kept: Kept) {
    let isSame =
      switch kept.answer {
      case .some(let before): before.isSame(as: answer)
      case .none: false
      }
    if !isSame { kept.number &+= 1 }
    kept.answer = consume answer
    kept.failure = nil
    kept.standing = .good
  }

  /// A run gave nothing: what is there stays as it stands, but nobody waits any more.
  package func fail(_ command: SecretCommand, _ sentence: String) {
    let kept = kept(command)
    kept.failure = sentence
    if kept.standing == .awaited { kept.standing = .rejected }
  }

  /// Its time is over.
  package func expire(_ command: SecretCommand) {
    let kept = kept(command)
    kept.answer = nil
    kept.standing = .good
  }

  /// An upstream has rejected its value, and the next run follows at once.
  package func await(_ command: SecretCommand) { kept(command).standing = .awaited }

  /// Nobody uses it any more.
  package func forget(_ command: SecretCommand) { all[command] = nil }

  /// Why the value is not renewed, if there is one.
  func failure(of command: SecretCommand) -> String? { all[command]?.failure.map { $0 + SecretProblem.stillInUse } }

  /// Of the answer that is kept: 0: there never was one.
  package func number(of command: SecretCommand) -> UInt64 { all[command]?.number ?? 0 }

  /// Until when its answer says that it counts, in seconds since 1970; nil: it does not say, or there is none.
  package func expiry(of command: SecretCommand) -> Int64? {
    guard let kept = all[command] else { return nil }
    switch kept.answer {
    case .some(let answer): return answer.expiry
    case .none: return nil
    }
  }

  /// What to start its program with.
  package func request(_ verb: HelperRequest.Verb, of command: SecretCommand) throws(CommandFailure) -> HelperRequest {
    do throws(SystemError) {
      var request = try HelperRequest(verb, of: command, in: arena)
      guard verb != .get, let kept = all[command] else { return request }
      switch kept.answer {
      case .none: break
      case .some(let answer): try request.add(answer)
      }
      return request
    } catch {
      throw CommandFailure("\(command.path) cannot be started: \(error)")
    }
  }

  /// Appends a copy to `secret`.
  /// - Parameter isUser: of the user's name that it gave.
  func append(_ command: SecretCommand, isUser: Bool = false, to secret: inout Secret) throws(SecretProblem) {
    guard let kept = all[command] else {
      throw SecretProblem("\(command.path) has not ended yet", isMissing: true)
    }
    guard kept.standing == .good else {
      let rejected = "the upstream has rejected \(SecretSource.command(command).name), and it is asked again"
      throw SecretProblem(kept.failure ?? rejected, isMissing: true)
    }
    switch kept.answer {
    case .none:
      throw SecretProblem(
        kept.failure ?? "the time of \(SecretSource.command(command).name) is over", isMissing: true)
    case .some(let answer):
      do throws(SystemError) {
        try answer.withPart(isUser: isUser) { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: SecretSource.command(command).name)
      }
    }
  }

  // MARK: from one thread to another

  func isKnown(_ command: SecretCommand) -> Bool { !isAwaited(command) }
  func lastFailure(of command: SecretCommand) -> String? { all[command]?.failure }

  /// nil: there is no value.
  func copy(of command: SecretCommand) throws(SystemError) -> HelperAnswer.Copy? {
    guard let kept = all[command], kept.standing == .good else { return nil }
    switch kept.answer {
    case .none: return nil
    case .some(let answer): return try HelperAnswer.Copy(of: answer, number: kept.number, mustLock: mustLock)
    }
  }

  func put(_ copy: HelperAnswer.Copy?, failure: String?, of command: SecretCommand) throws(SystemError) {
    let kept = kept(command)
    kept.standing = .good
    if let copy {
      kept.answer = try copy.answer(in: arena)
      kept.number = copy.number
      if !arena.isLocked { isLocked = false }
    } else {
      kept.answer = nil
    }
    kept.failure = failure
  }

  private func kept(_ command: SecretCommand) -> Kept {
    if let kept = all[command] { return kept }
    let kept = Kept()
    all[command] = kept
    return kept
  }
}
