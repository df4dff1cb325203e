/// Something that has to happen by a certain time.
open class Timed {
  /// Milliseconds of the loop's clock; `.max`: never. Moving it later costs nothing.
  fileprivate(set) var dueAt = UInt64.max
  fileprivate var heapIndex = -1
  /// The time of its entry, while it has one.
  fileprivate var queuedFor = UInt64.max

  package init() {}

  /// The time has come. It is no longer scheduled.
  open func deadlinePassed() {}
}

/// A call that has to happen by a certain time.
package final class TimedCall: Timed {
  private let body: () -> Void

  package init(_ body: @escaping () -> Void) { self.body = body }

  package override func deadlinePassed() { body() }
}

/// All deadlines of a worker on one libuv timer, so that an idle daemon sleeps.
///
/// A heap with lazy entries: an owner whose deadline moves later (each request moves one) is only looked at again when its
/// earlier time comes.
package final class DeadlineQueue {
  /// The entry has what is compared, so that only those are touched that move.
  private struct Entry {
    var time: UInt64
    let owner: Timed
  }

  private var heap: [Entry] = []
  private var armedFor = UInt64.max
  private var timer: Timer?
  private unowned let loop: Loop

  package init(loop: Loop) {
    self.loop = loop
    timer = Timer(loop: loop) { [unowned self] in fire() }
  }

  package func schedule(_ owner: Timed, at time: UInt64) {
    let index = owner.heapIndex
    owner.dueAt = time
    if index >= 0 {
      // Nearly every request comes here, without a look at the heap.
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

  package func cancel(_ owner: Timed) {
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

  private func fire() {
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
          // The others have theirs first.
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
