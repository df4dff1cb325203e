import Foundation
import TestSupport
import Testing

@Suite struct ReloadTests {
  @Test
  func `reload exits with 69 without a daemon and names the path`() throws {
    let scratch = try Scratch()
    let run = try Run("reload", "--control", "\(scratch.path)/control.sock")
    #expect(run.status == 69)
    let errors = scratch.plain(run.errors)
    #expect(errors == (try golden("reload-no-daemon.txt", for: errors)))
    #expect(run.output == "")
  }

  @Test
  func `reload uses the path of the configuration's control key`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("control: here.sock"), mode: 0o644)
    let run = try Run("reload", "--config", file)
    #expect(run.status == 69)
    #expect(run.errors.contains(" \(scratch.path)/here.sock: "), "\(run.errors)")
  }

  @Test
  func `reload with a broken file asks the daemon at the default path and exits with 1`()
    throws
  {
    let scratch = try Scratch()
    let path = try scratch.write("bearerd.yaml", configuration("bogus: 1"), mode: 0o644)
    let name = getuid() < 1000 ? "control.sock" : "bearerd-control.sock"
    let directories = ["RUNTIME_DIRECTORY": scratch.path, "XDG_RUNTIME_DIR": scratch.path]
    let alone = try Run("reload", "--config", path, environment: directories)
    #expect(alone.status == 69)
    func plain(_ run: Run) -> String { scratch.plain(run.errors, [name: "SOCKET"]) }
    #expect(plain(alone) == (try golden("reload-invalid-no-daemon.txt", for: plain(alone))))

    for (response, file) in [
      ("error\nthe reason\n", "reload-refused.txt"), ("ok\n2\n", "reload-invalid.txt"),
    ] {
      let server = try LineServer(path: "\(scratch.path)/\(name)", response: response)
      let run = try Run("reload", "--config", path, environment: directories)
      #expect(run.status == 1)
      #expect(plain(run) == (try golden(file, for: plain(run))))
      #expect(server.received == "reload\n")
      unlink("\(scratch.path)/\(name)")
    }
  }

  @Test
  func `reload exits with 69 if another program responds`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try LineServer(path: path, response: "HTTP/1.1 400 Bad Request\r\n\r\n")
    let run = try Run("reload", "--control", path)
    #expect(run.status == 69)
    let errors = scratch.plain(run.errors)
    #expect(errors == (try golden("reload-other-program.txt", for: errors)))
    #expect(server.received == "reload\n")
  }

  @Test
  func `reload escapes control characters in the daemon's reason`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try LineServer(path: path, response: "error\nline one\nline \u{1B}[31mtwo\n")
    let run = try Run("reload", "--control", path)
    #expect(run.status == 1)
    #expect(!run.errors.contains("\u{1B}"))
    #expect(run.errors == (try golden("reload-escaped.txt", for: run.errors)))
    #expect(server.received == "reload\n")
  }

  @Test
  func `reload exits with 0 and the generation, or with 1 and the reason`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("control: control.sock"), mode: 0o644)
    let daemon = try RunningDaemon(configuration: file)

    let good = try Run("reload", "--config", file)
    #expect(good.status == 0)
    #expect(good.output == (try golden("reload.txt", for: good.output)))

    try scratch.write("bearerd.yaml", configuration("control: control.sock\nbogus: 1"), mode: 0o644)
    let bad = try Run("reload", "--control", "\(scratch.path)/control.sock")
    #expect(bad.status == 1)
    let errors = scratch.plain(bad.errors)
    #expect(errors == (try golden("reload-refused-invalid.txt", for: errors)))
    #expect(bad.output == "")

    // The path of the control socket is read even if the rest of the file has errors.
    let found = try Run("reload", "--config", file)
    #expect(found.status == 1)
    #expect(scratch.plain(found.errors) == errors)
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

/// A Unix socket that reads one line from one client and responds with a fixed text.
private final class LineServer: @unchecked Sendable {
  private let descriptor: Int32
  private let done = DispatchSemaphore(value: 0)
  private var text = ""

  init(path: String, response: String) throws {
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
      _ = Array(response.utf8).withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
      close(client)
      done.signal()
    }
  }

  deinit { close(descriptor) }

  var received: String {
    _ = done.wait(timeout: .now() + 30)
    done.signal()
    return text
  }
}
