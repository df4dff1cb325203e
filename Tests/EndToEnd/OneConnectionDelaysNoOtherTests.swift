import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A connection with many requests does not delay other connections.
@Suite(.waits) struct OneConnectionDelaysNoOther {
  private func isStopped(_ pid: pid_t) -> Bool {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first == "T"
  }

  /// The clients send while the daemon is stopped. The log then shows the order in which the daemon processes the
  /// requests.
  @Test func `T54: other connections are served between thousands of pipelined requests of one connection`() throws {
    let stage = try Stage()
    try stage.start()
    let (hog, others) = (try stage.raw(), try (0..<6).map { _ in try stage.raw() })
    for client in [hog] + others {
      try client.send(stage.head("GET", "/nowhere/first"))
      #expect(try client.response().head.hasPrefix("HTTP/1.1 404 "))
    }
    let pid = stage.daemon!.pid
    kill(pid, SIGSTOP)
    defer { kill(pid, SIGCONT) }
    try #require(eventually { isStopped(pid) })
    // Some clients send before the hog and some after it, because the kernel's order of events is unknown.
    for other in others[..<3] { try other.send(stage.head("GET", "/nowhere/other")) }
    let request = try stage.head("GET", "/nowhere/hog")
    let count = 4_000
    let all = Array(String(repeating: request, count: count).utf8)
    let sent = hog.sendWithoutWaiting(all)
    try #require(sent > 1_000 * request.utf8.count, "\(sent) bytes went into the socket")
    for other in others[3...] { try other.send(stage.head("GET", "/nowhere/other")) }
    kill(pid, SIGCONT)
    // The client reads the responses all the time, so that the daemon never waits for this client.
    let rest = Thread { try? hog.send(Array(all[sent...])) }
    rest.start()
    for _ in 0..<count { #expect(try hog.response().head.hasPrefix("HTTP/1.1 404 ")) }
    for other in others { #expect(try other.response().head.hasPrefix("HTTP/1.1 404 ")) }
    #expect(stage.log.wait(for: .request, ["path": "/nowhere/hog"], count: count))
    let paths = stage.log.lines(of: .request).compactMap { $0["path"] }
    #expect(paths.count { $0 == "/nowhere/other" } == others.count)
    let turns = paths[..<(paths.lastIndex(of: "/nowhere/other") ?? 0)].count { $0 == "/nowhere/hog" }
    #expect(turns < 200, "\(turns) of the hog's requests were taken before the others' first")
    stage.assertCanary(times: 0)
  }
}
