internal import CLibuv
internal import Glibc

/// Work that would keep a loop for long, done piece by piece: all of it together has a millisecond of each turn, and other
/// work comes in between.
final class Pieces {
  private var jobs: [Job] = []
  private var isPlanned = false

  /// Does as much as there is time for, and at least something; true when nothing is left.
  typealias Job = (_ hasTime: () -> Bool) -> Bool

  func add(_ job: @escaping Job, on loop: Loop) {
    jobs.append(job)
    plan(on: loop)
  }

  private func plan(on loop: Loop) {
    guard !isPlanned, !jobs.isEmpty else { return }
    isPlanned = true
    loop.onNextTurn { [unowned self, unowned loop] in
      goOn(until: loop.turn.endOfPiece)
      isPlanned = false
      plan(on: loop)
    }
  }

  private func goOn(until end: UInt64) {
    let hasTime = { bearerd_ticks() < end }
    while !jobs.isEmpty {
      let job = jobs.removeFirst()
      // Pieces that it adds come behind what is left of it.
      let rest = jobs
      jobs = []
      let isDone = job(hasTime)
      jobs = rest + (isDone ? [] : [job]) + jobs
      if !hasTime() { return }
    }
  }
}

extension Loop {
  /// For what takes the longer the more there is of it. Never begins within this call, and goes on until it says that it is
  /// done.
  package func inPieces(_ job: @escaping (_ hasTime: () -> Bool) -> Bool) { pieces.add(job, on: self) }

  /// Runs each of these piece by piece, in their order, and then what follows; that at once, if there are none.
  package func inPieces<Item>(_ items: [Item], _ body: @escaping (Item) -> Void, then: @escaping () -> Void) {
    if items.isEmpty { return then() }
    var next = 0
    inPieces { hasTime in
      repeat {
        body(items[next])
        next += 1
      } while next < items.count && hasTime()
      if next == items.count { then() }
      return next == items.count
    }
  }
}
