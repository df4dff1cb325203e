import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// With a socket unit the port stays open across restarts, and callers can connect meanwhile.
@Suite(.inProcess) struct SocketActivationTests {
  private static let listenerAddress = "address: systemd:main"

  @Test func `one socket name can have an IPv4 and an IPv6 socket`() throws {
    guard LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    try unit.listen("main", on: "::1", port: port)
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    let client = try LocalClient(port: port, family: AF_INET6)
    try client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(try stage.get().status == 200)
    #expect(stage.log.contains(.listening, ["held_by": "systemd", "address": "[::1]:\(port)"]))
    // The admission rules are the same.
    let wrongHost = try stage.request("GET /api/x HTTP/1.1\r\nHost: evil.test:\(port)\r\n\r\n")
    #expect(wrongHost.status == 421)
    #expect(!stage.log.contains(.listener))
    stage.assertCanary(times: 2)
  }

  @Test func `without an IPv6 socket, IPv4 is served and the log names the missing ListenStream line`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    #expect(stage.log.contains(.listener, ["listener": "main", "help": .naming("ListenStream=[::1]:\(port)")]))
    stage.assertCanary(times: 0)
  }

  @Test func `the log warns of a socket mode that keeps an allowed user out`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    try unit.listen("main", path: stage.scratch.path + "/held.sock", mode: 0o600)
    let configuration = stage.configuration(listener: Self.listenerAddress)
    try stage.start(unit, configuration.replacing("allow_users: [\(getuid())]", with: "allow_users: [4711]"))
    let remark: [String: LoggedField] = ["detail": .naming("uid 4711", "mode 600"), "help": .naming("SocketMode=0666")]
    #expect(stage.log.contains(.listener, remark))
    stage.assertCanary(times: 0)
  }

  @Test func `T4 T9: inherited sockets follow the rules for configured addresses`() throws {
    let stage = try Stage()
    let open = stage.scratch.path + "/open"
    #expect(mkdir(open, 0o777) == 0 && chmod(open, 0o777) == 0)
    let rows: [(String, (SocketUnit) throws -> Void)] = [
      ("other machines can reach", { try $0.listen("main", on: "0.0.0.0") }),
      ("other machines can reach", { try $0.listen("main", on: "::") }),
      ("another user could replace it", { try $0.listen("main", path: open + "/x.sock", mode: 0o600) }),
      ("is not a socket", { $0.pass("main", Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)) }),
      ("is not a stream", { $0.pass("main", try $0.socket(AF_INET, SOCK_DGRAM)) }),
      ("does not listen", { $0.pass("main", try $0.socket(AF_INET, SOCK_STREAM)) }),
      ("neither internet nor unix", { $0.pass("main", try $0.socket(AF_NETLINK, SOCK_DGRAM)) }),
      // A valid socket does not make up for an invalid socket.
      (
        "other machines can reach",
        {
          try $0.listen("main")
          try $0.listen("main", on: "0.0.0.0")
        }
      ),
    ]
    for (reason, add) in rows {
      if reason.contains("other machines"), !LocalClient.hasIPv6 { continue }
      let unit = SocketUnit()
      try add(unit)
      let result = try stage.fail(unit, stage.configuration(listener: Self.listenerAddress))
      #expect(result.status == 2, "\(reason)")
      #expect(result.errors.contains(reason) && result.errors.contains("help: "), "\(reason): \(result.errors)")
    }
    stage.assertCanary(times: 0)
  }

  @Test func `the error for a missing socket shows the lines to add to the unit`() throws {
    let stage = try Stage()
    let none = try stage.fail(stage.configuration(listener: Self.listenerAddress))
    #expect(none.status == 2 && none.errors.contains("systemd passed no sockets"))
    let unit = SocketUnit()
    try unit.listen("other")
    let result = try stage.fail(unit, stage.configuration(listener: Self.listenerAddress))
    #expect(result.status == 2)
    #expect(result.errors.contains("no socket named \"main\", only \"other\""), "\(result.errors)")
    for line in ["[Socket]", "ListenStream=127.0.0.1:7070", "ListenStream=[::1]:7070", "FileDescriptorName=main"] {
      #expect(result.errors.contains("\n\(line)\n"), "\(line)")
    }
    stage.assertCanary(times: 0)
  }

  @Test func `a failed start disconnects waiting callers and keeps the port open`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    let waiting = try LocalClient(port: port)
    try waiting.send("GET /api/waiting HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
    #expect(try stage.fail(unit, "nonsense: yes").status == 2)
    #expect(throws: (any Error).self) { _ = try SocketUnit().listen("squatter", port: port) }
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    #expect(try stage.get().status == 200)
    // The waiting connection was first in the queue.
    #expect(throws: (any Error).self) { _ = try waiting.response() }
    #expect(!stage.recorded.contains("waiting"))
    stage.assertCanary(times: 1)
  }

  @Test func `an inherited socket that no listener uses is closed with a warning`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    try unit.listen("main")
    let port = try unit.listen("spare")
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    #expect(stage.log.contains(.socketNotUsed, ["name": "spare", "address": "127.0.0.1:\(port)"]))
    // If the configuration names the address of the inherited socket, the error says so.
    let inUse = try stage.fail(unit, stage.configuration(listener: "address: 127.0.0.1:\(port)"))
    #expect(inUse.status == 71 && inUse.errors.contains("write address: systemd:spare"), "\(inUse.errors)")
    stage.assertCanary(times: 0)
  }

  @Test func `a reload keeps inherited sockets, also for a renamed or extended listener`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    let client = try stage.client()
    func ask() throws -> Int {
      try client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      return try client.response().status
    }
    #expect(try ask() == 200)
    try stage.reload(stage.configuration(listener: Self.listenerAddress))
    #expect(try ask() == 200)
    #expect(try stage.get().status == 200)
    try stage.reload("nonsense: yes")
    #expect(try stage.get().status == 200)
    try stage.reload(stage.configuration(listener: "address: [systemd:main, \"localhost:0\"]"))
    #expect(try stage.get().status == 200)
    try stage.reload(
      stage.configuration(listener: Self.listenerAddress).replacing("  main:\n", with: "  first:\n"))
    #expect(try stage.get().status == 200)
    #expect(stage.log.lines(of: .reloaded).count == 3)
    stage.assertCanary(times: 6)
  }

  @Test func `a reload that uses a closed inherited socket again fails`() throws {
    let stage = try Stage()
    let unit = SocketUnit()
    try unit.listen("main")
    try stage.start(unit, stage.configuration(listener: Self.listenerAddress))
    try stage.reload(stage.configuration())
    #expect(stage.log.wait(for: .socketNotUsed, ["name": "main"]))
    try stage.reload(stage.configuration(listener: Self.listenerAddress))
    #expect(stage.log.contains(.reloadFailed))
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [
    "upstream: \"http://127.0.0.1:PORT/\"", "upstream: \"https://127.0.0.1:PORT/\", server_name: api.example.com",
  ])
  func `an upstream at an inherited socket is refused as a loop`(upstream: String) throws {
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    let configuration = stage.configuration(
      listener: Self.listenerAddress,
      services: "  loop: { \(upstream.replacing("PORT", with: "\(port)")), credential: none }")
    let result = try stage.fail(unit, configuration)
    #expect(result.status == 2 && result.errors.contains("requests would loop"), "\(result.errors)")
    stage.assertCanary(times: 0)
  }
}
