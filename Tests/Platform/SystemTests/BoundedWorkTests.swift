import Dispatch
import System
import Testing

@Suite struct BoundedWorkTests {
  @Test func `T55: work that hangs does not delay other work or the caller`() {
    let gate = DispatchSemaphore(value: 0)
    defer { for _ in 0..<40 { gate.signal() } }
    let ended = BoundedWork.run(Array(0..<200), milliseconds: 4_000) { number in
      if number % 5 == 0 { gate.wait() }
      return number * 2
    }
    #expect(ended.count == 160 && ended.allSatisfy { $0.value == $0.key * 2 && $0.key % 5 != 0 })
  }

  @Test func `T55: work that hangs uses a bounded number of threads`() {
    let (gate, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    defer { for _ in 0..<200 { gate.signal() } }
    let ended = BoundedWork.run(Array(0..<200), milliseconds: 1_000) { _ in
      begun.signal()
      gate.wait()
    }
    #expect(ended.isEmpty)
    var count = 0
    while begun.wait(timeout: .now()) == .success { count += 1 }
    #expect(count > 1 && count <= 64)
  }

  @Test func `every item of work returns its result`() {
    #expect(BoundedWork.run([Int](), milliseconds: 1_000) { $0 }.isEmpty)
    #expect(BoundedWork.run(Array(0..<1_000), milliseconds: 30_000) { -$0 }.count == 1_000)
  }
}
