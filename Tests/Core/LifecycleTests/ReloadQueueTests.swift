import Lifecycle
import Testing

@Suite struct ReloadQueueTests {
  @Test func `T55: one reload at a time; who asks meanwhile is answered by the next one`() {
    var queue = ReloadQueue<String>()
    #expect(queue.ask("a") == .begin)
    #expect(queue.ask("b") == .wait && queue.ask("c") == .wait)
    var ended = queue.end()
    #expect(ended?.answered == ["a"] && ended?.begins == true)
    #expect(queue.ask("d") == .wait)
    ended = queue.end()
    #expect(ended?.answered == ["b", "c"] && ended?.begins == true)
    ended = queue.end()
    #expect(ended?.answered == ["d"] && ended?.begins == false)
    #expect(queue.ask("e") == .begin && queue.ask("f") == .wait)
    #expect(queue.giveUp() == ["e", "f"] && queue.giveUp().isEmpty)
    #expect(queue.ask("g") == .refused, "it hangs, and so would another one")
    #expect(queue.end() == nil && queue.ask("h") == .begin)
  }
}
