import Foundation
@testable import Providers
import Secrets
import Settings
import TestSupport
import Testing

/// `FileLoader` with a virtual clock and virtual threads: which reads begin when, and how long requests wait (T55).
@Suite struct FileLoaderTests {
  private let time: VirtualTime
  private let threads = VirtualThreads()
  private let loader: FileLoader
  private let log = Log()

  /// What the loader has reported, in order.
  private final class Log {
    var events: [String] = []
  }

  private static let a = SecretSource.file("/nonexistent/a")
  private static let b = SecretSource.file("/nonexistent/b")

  init() { self.init(workers: 1) }

  private init(workers: Int) {
    time = VirtualTime(workers: workers)
    loader = FileLoader(
      time: time, threads: threads, adder: nil, mustLock: { false },
      onRead: { [log] snapshot, loggedOut in
        log.events.append((["read", Self.name(snapshot.source)] + loggedOut.sorted()).joined(separator: " "))
      },
      onDelay: { [log] source, reason in
        log.events.append(reason == nil ? "unneeded \(Self.name(source))" : "delayed \(Self.name(source))")
      })
  }

  private static func name(_ source: SecretSource) -> String {
    guard case .file(let path) = source else { return "" }
    return (path as NSString).lastPathComponent
  }

  private func wait(_ sources: SecretSource..., as name: String) -> SecretWait? {
    loader.wait(for: sources) { [log] in log.events.append("end \(name)") }
  }

  @Test func `requests wait only for files that are being read, until their values are in use`() {
    #expect(loader.isIdle && wait(Self.a, as: "x") == nil)
    loader.read(Self.a)
    loader.read(Self.b)
    #expect(!loader.isIdle && loader.pending == [Self.a, Self.b])
    let waits = [wait(Self.a, as: "x"), wait(Self.a, Self.b, as: "y")]
    #expect(waits.allSatisfy { $0 != nil })
    threads.finishFirst()
    #expect(log.events.isEmpty, "nothing happens within the call from the thread")
    time.turn()
    #expect(log.events == ["read a", "end x"])
    #expect(loader.pending == [Self.b])
    threads.finishFirst()
    time.turn()
    #expect(log.events == ["read a", "end x", "read b", "end y"])
    #expect(loader.isIdle && threads.tasks.isEmpty && !time.hasTimers)
  }

  @Test func `T44: a file that changes during a read is read once more, and requests wait for the second read`() {
    loader.read(Self.a)
    let early = wait(Self.a, as: "early")
    for _ in 0..<3 { loader.read(Self.a) }
    let late = wait(Self.a, as: "late")
    #expect(early != nil && late != nil && threads.tasks.count == 1)
    threads.finishFirst()
    time.turn()
    #expect(log.events == ["read a"] && threads.tasks.count == 1)
    threads.finishFirst()
    time.turn()
    #expect(Set(log.events) == ["read a", "end early", "end late"] && log.events.count == 4)
    #expect(loader.isIdle)
  }

  @Test func `T55: requests wait for a file for one second in total, and then the file delays nobody`() {
    loader.read(Self.a)
    let early = wait(Self.a, as: "early")
    time.advance(600)
    loader.read(Self.a)
    threads.finishFirst()
    time.turn()
    let late = wait(Self.a, as: "late")
    time.advance(399)
    #expect(log.events == ["read a"] && early != nil && late != nil)
    time.advance(1)
    #expect(log.events == ["read a", "delayed a", "end early", "end late"])
    #expect(loader.pending.isEmpty && !loader.isIdle && wait(Self.a, as: "x") == nil)
    // The file is read by one thread only, however often it is requested, and used when the thread ends.
    for _ in 0..<3 { loader.read(Self.a) }
    #expect(threads.tasks.count == 1)
    threads.finishFirst()
    time.turn()
    #expect(log.events.last == "read a" && threads.tasks.count == 1 && loader.pending == [Self.a])
  }

  @Test(arguments: [1, 4])
  func `T55: sixteen files are read at once, and a file that hangs for 50 ms makes room for the next`(workers: Int) {
    let scene = FileLoaderTests(workers: workers)
    for number in 0..<400 { scene.loader.read(.file("/nonexistent/\(number)")) }
    let (quick, hanging) = (16 / workers, 240 / workers)
    #expect(scene.threads.tasks.count == quick)
    scene.time.advance(49)
    #expect(scene.threads.tasks.count == quick)
    scene.time.advance(1)
    #expect(scene.threads.tasks.count == 2 * quick)
    // At most 240 threads wait for hanging files. Then files are no longer read, and requests do not wait.
    scene.time.advance(10_000)
    #expect(scene.threads.tasks.count == quick + hanging)
    #expect(scene.loader.pending.isEmpty)
    #expect(scene.log.events.count { $0.hasPrefix("delayed ") } == 400)
    // All are read once threads end.
    var finished = 0
    while !scene.threads.tasks.isEmpty {
      scene.threads.finishFirst()
      scene.time.turn()
      finished += 1
      #expect(scene.threads.tasks.count <= quick + hanging)
    }
    #expect(finished == 400 && scene.loader.isIdle && !scene.time.hasTimers)
    // Threads that hung count as free again.
    for number in 0..<400 { scene.loader.read(.file("/nonexistent/\(number)")) }
    #expect(scene.threads.tasks.count == quick)
  }

  @Test func `a file is read again after growing pauses while no thread can be started`() {
    loader.read(Self.a)
    let first = wait(Self.a, as: "x")
    #expect(first != nil)
    threads.failFirst()
    time.turn()
    #expect(log.events == ["delayed a", "end x"])
    for pause: UInt64 in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
      #expect(threads.tasks.isEmpty)
      time.advance(pause - 1)
      #expect(threads.tasks.isEmpty)
      time.advance(1)
      #expect(threads.tasks.count == 1)
      threads.failFirst()
      time.turn()
    }
    // A success ends the attempts. The next failure begins with the first pause.
    time.advance(10_000)
    threads.finishFirst()
    time.turn()
    #expect(log.events.last == "read a" && !time.hasTimers)
    loader.read(Self.a)
    threads.failFirst()
    time.turn()
    time.advance(100)
    #expect(threads.tasks.count == 1)
  }

  @Test func `files that the configuration no longer has are not read again`() {
    for source in [Self.a, Self.b] {
      loader.read(source)
      threads.failFirst()
      time.turn()
    }
    loader.keep(only: [Self.b])
    time.advance(100)
    #expect(threads.tasks.count == 1)
    threads.finishFirst()
    time.turn()
    #expect(log.events == ["delayed a", "delayed b", "read b"] && !time.hasTimers)
  }

  @Test func `T46: reads that were requested before a logout are marked, and later reads are not`() {
    loader.read(Self.a)
    loader.read(Self.a)
    loader.read(Self.b)
    loader.logOut("mail", files: [Self.a])
    loader.logOut("chat", files: [Self.a])
    while !threads.tasks.isEmpty {
      threads.finishFirst()
      time.turn()
    }
    loader.read(Self.a)
    threads.finishFirst()
    time.turn()
    #expect(log.events == ["read a chat mail", "read b", "read a chat mail", "read a"])
  }

  @Test func `a new directory entry causes a read only if it is a link`() throws {
    let scratch = try Scratch()
    let plain = try scratch.write("plain", "x")
    let link = scratch.path + "/link"
    #expect(symlink("plain", link) == 0)
    for (made, event) in [([plain], "unneeded a"), ([link], "read a"), ([plain, link], "read a"), ([], "read a")]
      as [([String], String)]
    {
      loader.read(Self.a, made: made)
      threads.finishFirst()
      time.turn()
      #expect(log.events.last == event, "\(made)")
    }
    // During a read, the causes of the next read are collected. A cause other than a new entry requires the read.
    for (causes, event) in [
      ([[plain], [plain]], "unneeded a"), ([[plain], [link]], "read a"), ([[plain], []], "read a"),
      ([[], [plain]], "read a"),
    ] as [([[String]], String)] {
      loader.read(Self.a)
      for made in causes { loader.read(Self.a, made: made) }
      for _ in 0..<2 {
        threads.finishFirst()
        time.turn()
      }
      #expect(log.events.last == event, "\(causes)")
    }
    #expect(loader.isIdle)
  }

  @Test func `results are used one after another on a busy loop`() {
    let all = (0..<4).map { SecretSource.file("/nonexistent/\($0)") }
    for source in all { loader.read(source) }
    for _ in all { threads.finishFirst() }
    for count in 1...4 {
      time.turn(hasTime: false)
      #expect(log.events == (0..<count).map { "read \($0)" })
    }
    #expect(loader.isIdle)
  }

  @Test func `closing ends all reads and attempts`() {
    loader.read(Self.a)
    threads.failFirst()
    time.turn()
    loader.read(Self.b)
    let wait = wait(Self.b, as: "x")
    loader.close()
    time.advance(20_000)
    #expect(wait != nil && log.events == ["delayed a"])
    #expect(threads.isClosed && loader.isIdle && !time.hasTimers)
  }
}
