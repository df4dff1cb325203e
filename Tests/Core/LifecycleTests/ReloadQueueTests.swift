import Lifecycle
import Testing

@Suite struct ReloadQueueTests {
  @Test func `T55: reloads run one at a time, and the next reload serves all callers that asked meanwhile`() {
    var queue = ReloadQueue<String>()
    #expect(queue.ask("a") == .begin)
    #expect(queue.ask("b") == .wait && queue.ask("c") == .wait)
    var ended = queue.end()
    #expect(ended?.waiters == ["a"] && ended?.begins == true)
    #expect(queue.ask("d") == .wait)
    ended = queue.end()
    #expect(ended?.waiters == ["b", "c"] && ended?.begins == true)
    ended = queue.end()
    #expect(ended?.waiters == ["d"] && ended?.begins == false)
    #expect(queue.ask("e") == .begin && queue.ask("f") == .wait)
    #expect(queue.giveUp() == ["e", "f"] && queue.giveUp().isEmpty)
    #expect(queue.ask("g") == .refused, "it hangs, and so would another one")
    #expect(queue.end() == nil && queue.ask("h") == .begin)
  }
}
