import Foundation
import TestSupport
import Testing

@Suite struct ReloadTests {
  @Test
  func `without a daemon: 69, and the path that was tried`() throws {
    let scratch = try Scratch()
    let run = try Run("reload", "--control", "\(scratch.path)/control.sock")
    #expect(run.status == 69)
    #expect(run.errors.contains("no daemon answers at \(scratch.path)/control.sock: No such file or directory"))
    #expect(run.output == "")
  }

  @Test
  func `the path is that of the configuration's control: line`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("control: here.sock"), mode: 0o644)
    let run = try Run("reload", "--config", file)
    #expect(run.status == 69)
    #expect(run.errors.contains("no daemon answers at \(scratch.path)/here.sock:"), "\(run.errors)")
  }

  @Test
  func `a broken file: the daemon at the usual place is asked all the same, and the answer is 1 with the reason`()
    throws
  {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("bogus: 1"), mode: 0o644)
    let name = getuid() < 1000 ? "control.sock" : "bearerd-control.sock"
    let places = ["RUNTIME_DIRECTORY": scratch.path, "XDG_RUNTIME_DIR": scratch.path]
    let alone = try Run("reload", "--config", file, environment: places)
    #expect(alone.status == 69)
    #expect(alone.errors.contains("unknown key \"bogus\""), "\(alone.errors)")
    #expect(alone.errors.contains("no daemon answers at \(scratch.path)/\(name):"), "\(alone.errors)")

    for (answer, reason) in [
      ("error\nthe reason\n", "stays in use:\nthe reason"), ("ok\n2\n", "unknown key \"bogus\""),
    ] {
      let server = try LineServer(path: "\(scratch.path)/\(name)", answer: answer)
      let run = try Run("reload", "--config", file, environment: places)
      #expect(run.status == 1)
      #expect(run.errors.contains(reason), "\(run.errors)")
      #expect(server.received == "reload\n")
      unlink("\(scratch.path)/\(name)")
    }
  }

  @Test
  func `what answers but is not bearerd is not believed`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try LineServer(path: path, answer: "HTTP/1.1 400 Bad Request\r\n\r\n")
    let run = try Run("reload", "--control", path)
    #expect(run.status == 69)
    #expect(run.errors.contains("is not bearerd"))
    #expect(server.received == "reload\n")
  }

  @Test
  func `the daemon's reason is printed without what would drive a terminal`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try LineServer(path: path, answer: "error\nline one\nline \u{1B}[31mtwo\n")
    let run = try Run("reload", "--control", path)
    #expect(run.status == 1)
    #expect(run.errors == "bearerctl: the old configuration stays in use:\nline one\nline ?[31mtwo\n")
    #expect(server.received == "reload\n")
  }

  @Test
  func `a running daemon: 0 with the generation, 1 with the reason when the old configuration stays`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("control: control.sock"), mode: 0o644)
    let daemon = try RunningDaemon(configuration: file)

    let good = try Run("reload", "--config", file)
    #expect(good.status == 0)
    #expect(good.output == "reloaded: generation 2 is in use\n")

    try scratch.write("bearerd.yaml", configuration("control: control.sock\nbogus: 1"), mode: 0o644)
    let bad = try Run("reload", "--control", "\(scratch.path)/control.sock")
    #expect(bad.status == 1)
    #expect(bad.errors.contains("the old configuration stays in use"))
    #expect(bad.errors.contains("unknown key \"bogus\""), "\(bad.errors)")
    #expect(bad.output == "")

    // The file says where its daemon is, whatever else is wrong with it.
    let found = try Run("reload", "--config", file)
    #expect(found.status == 1)
    #expect(found.errors.contains("the old configuration stays in use"), "\(found.errors)")
    #expect(daemon.stop() == 0)
  }

  private func configuration(_ line: String) -> String {
    """
    listeners:
      main: { address: localhost:0, allow_users: [\(getuid())] }
    services:
      a: { upstream: https://a.example/, credential: none }
    \(line)

    """
  }
}

/// A unix socket that reads a line and answers one text to one client.
private final class LineServer: @unchecked Sendable {
  private let descriptor: Int32
  private let done = DispatchSemaphore(value: 0)
  private var text = ""

  init(path: String, answer: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0 && listen(descriptor, 1) == 0)
    DispatchQueue.global().async { [self] in
      let client = accept(descriptor, nil, nil)
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = read(client, &bytes, bytes.count)
      text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      _ = Array(answer.utf8).withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
      close(client)
      done.signal()
    }
  }

  deinit { close(descriptor) }

  /// What the client sent.
  var received: String {
    _ = done.wait(timeout: .now() + 30)
    done.signal()
    return text
  }
}
