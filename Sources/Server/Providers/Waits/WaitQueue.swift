/// Requests that wait for the same thing, in the order in which they came. Each is ended once.
///
/// A wait is taken out of the queue before it is ended: what it calls may wait anew.
package struct WaitQueue<Wait: SecretWait> {
  private var waits: [Wait] = []

  package init() {}

  package var isEmpty: Bool { waits.isEmpty }

  package mutating func append(_ wait: Wait) { waits.append(wait) }

  package mutating func append(_ others: consuming WaitQueue) { waits += others.waits }

  /// Takes out the waits for which `isOver` holds, for the caller to end. Cancelled waits leave the queue, too.
  package mutating func take(where isOver: (Wait) -> Bool) -> [Wait] {
    var over: [Wait] = []
    waits.removeAll { wait in
      if wait.isDone { return true }
      guard isOver(wait) else { return false }
      over.append(wait)
      return true
    }
    return over
  }

  /// Takes out all waits, for the caller to end.
  package mutating func takeAll() -> [Wait] {
    let all = waits
    waits = []
    return all
  }
}
