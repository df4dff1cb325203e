import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// What one connection sends at once does not keep others waiting, nor does it fill the log.
@Suite(.waits) struct NobodyHasTheLoopAlone {
  private func isStopped(_ pid: pid_t) -> Bool {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first == "T"
  }

  /// All have sent everything before the daemon sees any of it: the order in the log is the order in which it took them.
  @Test func `T54: among thousands of requests that one connection sends at once others have their turn`() throws {
    let stage = try Stage()
    try stage.start()
    let (hog, others) = (try stage.raw(), try (0..<6).map { _ in try stage.raw() })
    for client in [hog] + others {
      try client.send(stage.head("GET", "/nowhere/first"))
      #expect(try client.answer().head.hasPrefix("HTTP/1.1 404 "))
    }
    let pid = stage.daemon!.pid
    kill(pid, SIGSTOP)
    defer { kill(pid, SIGCONT) }
    try #require(eventually { isStopped(pid) })
    // Whichever way round the kernel tells of them, some of them come behind it.
    for other in others[..<3] { try other.send(stage.head("GET", "/nowhere/other")) }
    let request = try stage.head("GET", "/nowhere/hog")
    let count = 4_000
    let all = Array(String(repeating: request, count: count).utf8)
    let sent = hog.sendWithoutWaiting(all)
    try #require(sent > 1_000 * request.utf8.count, "\(sent) bytes went into the socket")
    for other in others[3...] { try other.send(stage.head("GET", "/nowhere/other")) }
    kill(pid, SIGCONT)
    // The answers are taken all the time: it is not for want of room that the others have their turn.
    let rest = Thread { try? hog.send(Array(all[sent...])) }
    rest.start()
    for _ in 0..<count { #expect(try hog.answer().head.hasPrefix("HTTP/1.1 404 ")) }
    for other in others { #expect(try other.answer().head.hasPrefix("HTTP/1.1 404 ")) }
    #expect(stage.log.wait(for: .request, ["path": "/nowhere/hog"], count: count))
    let paths = stage.log.lines(of: .request).compactMap { $0["path"] }
    #expect(paths.count { $0 == "/nowhere/other" } == others.count)
    let turns = paths[..<(paths.lastIndex(of: "/nowhere/other") ?? 0)].count { $0 == "/nowhere/hog" }
    #expect(turns < 200, "\(turns) of the hog's requests were taken before the others' first")
    stage.assertCanary(times: 0)
  }

  @Test func `T58: whoever is not let in does not write the log full, and the metrics have all`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(more: "control: control.sock").replacing("[\(getuid())]", with: "[\(getuid() + 1)]"))
    // Each of them is closed after its answer.
    for _ in 0..<200 { #expect(try stage.get().status == 403) }
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "", "code": "caller-not-allowed"]) == 200)
    let lines = stage.log.lines(of: .request, ["refused": "caller-not-allowed"]).count
    // If the machine is so slow that a second ten seconds begin, there may be as many again.
    #expect((50...100).contains(lines), "\(lines)")
    stage.assertCanary(times: 0)
  }
}
