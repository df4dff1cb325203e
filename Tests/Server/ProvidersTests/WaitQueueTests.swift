import Providers
import Testing

@Suite struct WaitQueueTests {
  private func same(_ some: [SecretWait], _ others: [SecretWait]) -> Bool {
    some.elementsEqual(others) { $0 === $1 }
  }

  @Test func `drain removes ended waits in order and keeps the others`() {
    let waits = (0..<6).map { _ in SecretWait {} }
    var queue = WaitQueue<SecretWait>()
    for wait in waits { queue.append(wait) }
    var count = 0
    let ended = queue.drain { _ in
      count += 1
      return count.isMultiple(of: 2)
    }
    #expect(same(ended, [waits[1], waits[3], waits[5]]))
    #expect(same(queue.drain(), [waits[0], waits[2], waits[4]]))
    #expect(queue.isEmpty)
  }

  @Test func `a cancelled wait is removed without a callback`() {
    var queue = WaitQueue<SecretWait>()
    let cancelled = SecretWait { Issue.record("a cancelled wait was ended") }
    queue.append(cancelled)
    cancelled.cancel()
    #expect(queue.drain { _ in false }.isEmpty)
    #expect(queue.isEmpty)
    cancelled.end()
  }

  @Test func `a wait calls back once`() {
    var ends = 0
    let wait = SecretWait { ends += 1 }
    wait.end()
    wait.end()
    #expect(ends == 1)
  }

  @Test func `a wait can be added while others end`() {
    final class Owner { var queue = WaitQueue<SecretWait>() }
    let owner = Owner()
    let next = SecretWait {}
    owner.queue.append(SecretWait { [unowned owner] in owner.queue.append(next) })
    for wait in owner.queue.drain() { wait.end() }
    #expect(same(owner.queue.drain(), [next]))
  }

  @Test func `T60: draining the queue takes linear time`() {
    func questions(_ count: Int) -> Int {
      var (queue, asked) = (WaitQueue<SecretWait>(), 0)
      for _ in 0..<count { queue.append(SecretWait {}) }
      _ = queue.drain { _ in
        asked += 1
        return asked.isMultiple(of: 2)
      }
      return asked
    }
    #expect(questions(100_000) == 10 * questions(10_000))
  }
}
