/// Requests that wait for the same result, in order of arrival.
package struct WaitQueue<Wait: SecretWait> {
  private var waits: [Wait] = []

  package init() {}

  package var isEmpty: Bool { waits.isEmpty }

  package mutating func append(_ wait: Wait) { waits.append(wait) }

  package mutating func append(_ others: consuming WaitQueue) { waits += others.waits }

  /// Removes the finished and the cancelled waits from the queue. Returns the finished ones, which the caller must end.
  package mutating func drain(where isFinished: (Wait) -> Bool) -> [Wait] {
    var finished: [Wait] = []
    waits.removeAll { wait in
      if wait.isDone { return true }
      guard isFinished(wait) else { return false }
      finished.append(wait)
      return true
    }
    return finished
  }

  package mutating func drain() -> [Wait] {
    defer { waits = [] }
    return waits
  }
}
