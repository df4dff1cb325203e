package import System

/// What commands have printed (T42). Kept here for the keyrings of later configurations, which need not run them again.
package final class CommandSecrets {
  private let arena = SecretArena()
  private var all: [SecretCommand: Kept] = [:]

  private final class Kept {
    var value: Secret?
    /// Of the last run; nil: it was fine.
    var failure: String?
  }

  package init() {}

  /// What a program prints is read into locked memory, or not at all.
  package internal(set) var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  /// False when memory could not be locked.
  package private(set) var isLocked = true

  /// Whether its first run has not ended yet.
  package func isAwaited(_ command: SecretCommand) -> Bool { all[command] == nil }

  /// Takes what a run has printed in the place of what is there.
  /// - Parameter keyring: whose credentials it has to be fit for, each in its place.
  /// - Returns: false if it is unusable: what is there stays.
  package func take(_ command: SecretCommand, from process: HelperProcess, for keyring: Keyring) -> Bool {
    if !process.isLocked { isLocked = false }
    do throws(SecretProblem) {
      let value = try process.withOutput { (bytes) throws(SecretProblem) in
        try secretContent(bytes, name: SecretSource.command(command).name, in: arena)
      }
      for form in keyring.forms(of: command) {
        try value.withBytes { (bytes) throws(SecretProblem) in
          try form.check(bytes, name: SecretSource.command(command).name)
        }
      }
      let kept = kept(command)
      kept.value = consume value
      kept.failure = nil
      if !arena.isLocked { isLocked = false }
      return true
    } catch {
      fail(command, error.sentence)
      return false
    }
  }

  /// A run gave nothing: what is there stays.
  package func fail(_ command: SecretCommand, _ sentence: String) { kept(command).failure = sentence }

  /// Its time is over.
  package func expire(_ command: SecretCommand) { kept(command).value = nil }

  /// Nobody uses it any more.
  package func forget(_ command: SecretCommand) { all[command] = nil }

  /// Why the value is not renewed, if there is one.
  func failure(of command: SecretCommand) -> String? { all[command]?.failure.map { $0 + SecretProblem.stillInUse } }

  /// Appends a copy to `secret`.
  func append(_ command: SecretCommand, to secret: inout Secret) throws(SecretProblem) {
    guard let kept = all[command] else {
      throw SecretProblem("\(command.path) has not ended yet", isMissing: true)
    }
    switch kept.value {
    case .none:
      throw SecretProblem(
        kept.failure ?? "the time of \(SecretSource.command(command).name) is over", isMissing: true)
    case .some(let value):
      do throws(SystemError) {
        try value.withBytes { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: SecretSource.command(command).name)
      }
    }
  }

  // MARK: from one thread to another

  func isKnown(_ command: SecretCommand) -> Bool { all[command] != nil }
  func lastFailure(of command: SecretCommand) -> String? { all[command]?.failure }

  /// No pages: there is no value.
  func copy(of command: SecretCommand) throws(SystemError) -> (pages: LockedMemory?, count: Int) {
    guard let kept = all[command] else { return (nil, 0) }
    switch kept.value {
    case .none: return (nil, 0)
    case .some(let value):
      return try value.withBytes { (bytes) throws(SystemError) in
        let pages = try LockedMemory(byteCount: max(1, bytes.count), mustLock: mustLock)
        pages.bytes.copyMemory(from: bytes)
        return (pages, bytes.count)
      }
    }
  }

  func put(_ bytes: UnsafeRawBufferPointer?, failure: String?, of command: SecretCommand) throws(SystemError) {
    let kept = kept(command)
    if let bytes {
      var value = try Secret(capacity: bytes.count, in: arena)
      try value.append(bytes)
      kept.value = consume value
      if !arena.isLocked { isLocked = false }
    } else {
      kept.value = nil
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

/// A command whose program nobody else could have changed, when it was looked at.
package struct CheckedCommand: Sendable {
  package let command: SecretCommand

  /// Fails in one sentence with what to do. Asks file systems.
  package init(_ command: SecretCommand) throws(CommandFailure) {
    if let problem = ProgramFile.problem(of: command.path) { throw CommandFailure(problem) }
    self.command = command
  }

  /// Starts it.
  package func run(mustLock: Bool) throws(CommandFailure) -> HelperProcess {
    do throws(SystemError) {
      return try HelperProcess(words: command.words, limit: SecretFile.maximumSize, mustLock: mustLock)
    } catch {
      throw CommandFailure("\(command.path) cannot be started: \(error)")
    }
  }
}

extension SecretCommand {
  /// Why there is no secret, without a byte of what was printed. nil: it ended well.
  package func failure(_ end: HelperProcess.End, errorCount: Int) -> String? {
    let said =
      switch errorCount {
      case 0: ""
      case 1: ", and wrote 1 byte to its standard error, which is not shown"
      default: ", and wrote \(errorCount) bytes to its standard error, which are not shown"
      }
    return switch end {
    case .status(0): nil
    case .status(let status) where status == 126 || status == 127:
      "\(path) ended with status \(status): it, or what it runs, cannot be started\(said)"
    case .status(let status): "\(path) ended with status \(status)\(said)"
    case .signal(let signal): "\(path) was ended by signal \(signal)\(said)"
    }
  }

  package var tooSlow: String { "\(path) had not ended after \(time), and was killed" }
  package var tooSlowToCheck: String { "\(path) cannot be started: its file system has not answered for \(time)" }
  private var time: String { timeout % 1000 == 0 ? "\(timeout / 1000) s" : "\(timeout) ms" }
  package var tooMuchOutput: String { "\(path) printed more than 64 KiB, and was killed: that is no secret" }
  package var tooManyErrors: String { "\(path) wrote more than 1 MiB to its standard error, and was killed" }
}

/// Why a command could not be started: a sentence.
package struct CommandFailure: Error {
  package let sentence: String

  package init(_ sentence: String) { self.sentence = sentence }
}
