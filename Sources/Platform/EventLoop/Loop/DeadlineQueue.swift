open class DeadlineOwner {
  /// The deadline, in milliseconds of the loop's clock. `.max` if nothing is scheduled.
  fileprivate(set) var dueAt = UInt64.max
  fileprivate var heapIndex = -1
  /// The time of this object's entry in the heap, which may be earlier than `dueAt`.
  fileprivate var queuedFor = UInt64.max

  package init() {}

  /// Called by a `DeadlineQueue` at the deadline, after which the object is no longer scheduled.
  open func deadlinePassed() {}
}

package final class DeadlineCall: DeadlineOwner {
  private let body: () -> Void

  package init(_ body: @escaping () -> Void) { self.body = body }

  package override func deadlinePassed() { body() }
}

// Moving a deadline later is cheap: the heap does not change until the old time has come.
/// Runs all deadlines of a worker with one libuv timer.
package final class DeadlineQueue {
  /// A heap entry with a copy of the owner's `queuedFor`.
  private struct Entry {
    var time: UInt64
    let owner: DeadlineOwner
  }

  private var heap: [Entry] = []
  private var armedFor = UInt64.max
  private var timer: Timer?
  private unowned let loop: Loop

  package init(loop: Loop) {
    self.loop = loop
    timer = Timer(loop: loop) { [unowned self] in fire() }
  }

  package func schedule(_ owner: DeadlineOwner, at time: UInt64) {
    let index = owner.heapIndex
    owner.dueAt = time
    if index >= 0 {
      // The usual case for a request: the heap stays unchanged.
      if owner.queuedFor <= time { return }
      heap[index].time = time
      owner.queuedFor = time
      siftUp(index)
    } else {
      if time == .max { return }
      owner.heapIndex = heap.count
      owner.queuedFor = time
      heap.append(Entry(time: time, owner: owner))
      siftUp(owner.heapIndex)
    }
    arm()
  }

  package func cancel(_ owner: DeadlineOwner) {
    owner.dueAt = .max
    guard owner.heapIndex >= 0 else { return }
    remove(at: owner.heapIndex)
  }

  package func close() {
    timer?.close()
    timer = nil
    for entry in heap { entry.owner.heapIndex = -1 }
    heap.removeAll()
  }

  /// Calls the owners whose deadlines have passed.
  func fire() {
    armedFor = .max
    let now = loop.now
    loop.beginPhase()
    while let first = heap.first, first.time <= now {
      let owner = first.owner
      if owner.dueAt == .max {
        remove(at: 0)
      } else if owner.dueAt > now {
        heap[0].time = owner.dueAt
        owner.queuedFor = owner.dueAt
        siftDown(0)
      } else {
        remove(at: 0)
        owner.dueAt = .max
        owner.deadlinePassed()
        if loop.isOutOfTime {
          // Other work runs before the remaining deadlines.
          armedFor = now + 1
          timer?.start(after: 1)
          return
        }
      }
    }
    arm()
  }

  private func arm() {
    guard let time = heap.first?.time, time < armedFor else { return }
    armedFor = time
    let now = loop.now
    timer?.start(after: armedFor > now ? armedFor - now : 0)
  }

  private func remove(at index: Int) {
    heap[index].owner.heapIndex = -1
    let last = heap.removeLast()
    guard index < heap.count else { return }
    heap[index] = last
    last.owner.heapIndex = index
    siftDown(index)
    siftUp(last.owner.heapIndex)
  }

  private func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      if heap[parent].time <= heap[index].time { return }
      swap(parent, index)
      index = parent
    }
  }

  private func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in (2 * index + 1)...(2 * index + 2)
      where child < heap.count && heap[child].time < heap[least].time {
        least = child
      }
      if least == index { return }
      swap(least, index)
      index = least
    }
  }

  private func swap(_ a: Int, _ b: Int) {
    heap.swapAt(a, b)
    heap[a].owner.heapIndex = a
    heap[b].owner.heapIndex = b
  }
}
