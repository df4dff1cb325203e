/// The daemon, as `ReloadSteps` uses it. A method with a callback may call it before it returns, and calls it once.
package protocol ReloadTarget: AnyObject {
  /// A configuration that was read.
  associatedtype Plan
  associatedtype Failure: Error

  /// `true` after the daemon was told to stop.
  var isStopping: Bool { get }
  /// The result of a reload that the stop of the daemon ends.
  var stopping: Failure { get }
  /// The result of a reload whose configuration takes too long to read.
  var stillReading: Failure { get }

  /// Reads the configuration and all files that it names, without blocking the caller.
  func read(_ onEnd: @escaping (Result<Plan, Failure>) -> Void)
  /// Lets the first worker prepare a configuration. `nil` means that it is ready.
  func prepareFirst(_ plan: Plan, _ onEnd: @escaping (Failure?) -> Void)
  /// Lets all other workers prepare. `nil` means that all are ready.
  func prepareOthers(_ plan: Plan, _ onEnd: @escaping (Failure?) -> Void)
  /// Discards what the workers have prepared.
  func discardPrepared()
  /// Uses a configuration completely, or changes nothing and throws.
  func apply(_ plan: Plan) throws(Failure)
  /// Waits until all workers use the configuration. Then calls `onEnd` with its number.
  func confirm(_ plan: Plan, _ onEnd: @escaping (UInt64) -> Void)

  /// Reports that the previous configuration stays in use.
  func report(_ failure: Failure)
  /// Reports that a configuration was read after `giveUp`, and is not used.
  func reportLateRead()
}

/// Carries out one reload at a time, step by step. A failure in any step leaves the previous configuration in use.
package final class ReloadSteps<Target: ReloadTarget> {
  package typealias Completion = (Result<UInt64, Target.Failure>) -> Void

  private unowned let target: Target
  private var queue = ReloadQueue<Completion>()
  private var isReading = false

  package init(_ target: Target) { self.target = target }

  /// Starts a reload, or another one after that in progress. Calls `completion` once, possibly before it returns.
  package func request(_ completion: @escaping Completion) {
    guard !target.isStopping else { return completion(.failure(target.stopping)) }
    switch queue.ask(completion) {
    case .begin: begin()
    case .wait: break
    case .refused: completion(.failure(reported(target.stillReading)))
    }
  }

  /// Gives up a configuration that is still being read, so that a hanging file does not delay callers forever (T55).
  /// Has no effect in later steps.
  package func giveUp() {
    guard isReading else { return }
    let waiters = queue.giveUp()
    let failure = reported(target.stillReading)
    for completion in waiters { completion(.failure(failure)) }
  }

  private func begin() {
    isReading = true
    target.read { [unowned self] result in
      isReading = false
      guard !queue.isGivenUp, !target.isStopping else { return end(.failure(target.stopping)) }
      switch result {
      case .success(let plan): prepareFirst(plan)
      case .failure(let failure): end(.failure(reported(failure)))
      }
    }
  }

  private func prepareFirst(_ plan: Target.Plan) {
    target.prepareFirst(plan) { [unowned self] failure in
      if let failure { return discard(failure) }
      target.prepareOthers(plan) { [unowned self] failure in
        if let failure { return discard(failure) }
        guard !target.isStopping else { return discard(target.stopping) }
        do throws(Target.Failure) {
          try target.apply(plan)
        } catch {
          return discard(error)
        }
        target.confirm(plan) { [unowned self] number in end(.success(number)) }
      }
    }
  }

  private func discard(_ failure: Target.Failure) {
    target.discardPrepared()
    end(.failure(target.isStopping ? failure : reported(failure)))
  }

  private func end(_ result: Result<UInt64, Target.Failure>) {
    guard let ended = queue.end() else { return target.reportLateRead() }
    for completion in ended.waiters { completion(result) }
    if ended.begins { begin() }
  }

  private func reported(_ failure: Target.Failure) -> Target.Failure {
    target.report(failure)
    return failure
  }
}
