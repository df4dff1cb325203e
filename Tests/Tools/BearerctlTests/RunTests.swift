import Foundation
import TestServer
import TestSupport
import Testing

/// `bearerctl run` and `init`, and commands without a configuration.
@Suite struct RunTests {
  private let scratch: Scratch
  private let file: String
  private let server: UpstreamServer

  init() throws {
    scratch = try Scratch()
    var options = Certificate.Options()
    options.isCA = true
    let root = try Certificate(options)
    (options.isCA, options.dnsNames) = (false, ["localhost"])
    server = try UpstreamServer(
      chain: [try Certificate(options, issuer: root)],
      handler: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
    try scratch.write("ca.pem", root.pem, mode: 0o644)
    try scratch.write("key", "s3cret")
    file = try scratch.write(
      "bearerd.yaml",
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      control: control.sock
      credentials: { vault: { origins: [https://localhost:\(server.port)], headers: [{ name: X-Vault-Token, value: { file: key } }] } }
      services: { vault: { upstream: https://localhost:\(server.port)/, credential: vault, ca_file: ca.pem } }

      """, mode: 0o644)
  }

  private func runShell(_ script: String, _ options: [String] = [], environment: [String: String] = [:]) throws -> Run {
    try Run(
      program: Run.binary,
      ["run", "vault", "--config", file] + options + ["--", "/bin/sh", "-c", script, "name", "--config"],
      environment: environment)
  }

  @Test func `run adds the key to the program's requests, and its daemon ends with the program`() throws {
    let script = """
      address=${VAULT_ADDR#http://localhost:}
      exec 3<>/dev/tcp/localhost/${address%%/*}
      printf 'GET /%s/x HTTP/1.1\\r\\nHost: localhost:%s\\r\\nConnection: close\\r\\n\\r\\n' "${address#*/}" "${address%%/*}" >&3
      cat <&3
      env | grep -c s3cret
      pgrep -f -- "--config \(file) --private \(getuid())"
      exit 7
      """
    let run = try Run(program: Run.binary, ["run", "--config", file, "--", "/bin/bash", "-c", script])
    #expect(
      run.status == 7 && run.output.contains("200 OK") && run.output.contains("\r\n\r\nhello0\n"),
      "\(run.output)\(run.errors)")
    let requests = server.records.map { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(requests.contains { $0.contains("X-Vault-Token: s3cret\r\n") }, "\(requests)")
    let process = try #require(run.output.split(separator: "\n").last.flatMap { pid_t($0) })
    // The parent may not have reaped the process yet.
    func isGone() -> Bool {
      let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: ")").last?
        .prefix(2)
      return state == nil || state == " Z"
    }
    #expect(eventually { isGone() })
  }

  @Test func `run keeps a service's own port while the port is free`()
    throws
  {
    let holder = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), UInt32(0x7F00_0001).bigEndian)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(holder, $0, length)
        _ = getsockname(holder, $0, &length)
      }
    }
    let port = UInt16(bigEndian: address.sin_port)
    try scratch.write(
      "bearerd.yaml",
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      services: { images: { upstream: https://localhost:\(server.port)/, credential: none, ca_file: ca.pem, at: localhost:\(port) } }

      """, mode: 0o644)
    let script =
      "exec 3<>/dev/tcp/127.0.0.1/\(port) && printf 'GET /v2/ HTTP/1.1\\r\\nHost: localhost:\(port)\\r\\n\\r\\n' >&3 && head -n 1 <&3"
    func requestImages() throws -> Run {
      try Run(program: Run.binary, ["run", "images", "--config", file, "--", "/bin/bash", "-c", script])
    }
    let moved = try requestImages()
    // The shell's own message follows.
    let note = "\(moved.errors.prefix { !$0.isNewline })\n".replacing("port \(port)", with: "port TAKEN")
      .replacing(/localhost:\d+/, with: "localhost:FREE")
    #expect(!moved.output.contains("HTTP/"))
    #expect(note == (try golden("run-other-port.txt", for: note)))
    close(holder)
    let kept = try requestImages()
    #expect(kept.output == "HTTP/1.1 200 OK\r\n", "\(kept.output)\(kept.errors)")
    #expect(!kept.errors.contains("localhost:"), "\(kept.errors)")
  }

  @Test func `run passes on the program's arguments, exit status and signals`() throws {
    #expect(try runShell("exit 3").status == 3)
    let arguments = try runShell("echo \"$0 $1\"")
    #expect(arguments.output == "name --config\n", "\(arguments.errors)")
    let killed = try run(
      ["/bin/sh", "-c", "'\(Run.binary)' run --config '\(file)' -- sh -c 'kill -TERM $$'; echo $?"], environment: [:],
      over: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"], seconds: 30)
    #expect(killed.output.hasSuffix("143\n"), "\(killed.output)\(killed.errors)")
    let missing = try Run("run", "--config", file, "--", "no-such-program")
    let none = try Run("run", "--config", file)
    let unknown = try Run("run", "volt", "--config", file, "--", "true")
    #expect(missing.status == 127 && none.status == 2 && unknown.status == 2)
    let errors = scratch.plain(missing.errors + none.errors + unknown.errors)
    #expect(errors == (try golden("run-wrong-arguments.txt", for: errors)))
  }

  @Test func `run uses a running daemon`() throws {
    let daemon = try RunningDaemon(configuration: file)
    let run = try runShell("echo $VAULT_ADDR")
    #expect(run.output == "http://localhost:\(try daemon.port())/vault\n", "\(run.output)\(run.errors)")
    #expect(daemon.stop() == 0)
  }

  @Test func `run serves services of all listeners on one port`() throws {
    try scratch.write(
      "odd.yaml",
      """
      listeners:
        sock: { address: "unix:\(scratch.path)/b.sock", allow_users: [65533] }
        tokens: { address: localhost:0, allow_users: [65533], clients: { ci: sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0= } }
      control: control.sock
      services:
        hosted: { listener: tokens, at: hosted.localhost, upstream: "https://localhost:\(server.port)/", credential: none, ca_file: ca.pem }
        socketed: { listener: sock, upstream: "https://localhost:\(server.port)/", credential: none, ca_file: ca.pem }

      """, mode: 0o644)
    let script = """
      for url in $HOSTED_BASE_URL $SOCKETED_BASE_URL; do
        address=${url#http://}; host=${address%%/*}
        exec 3<>/dev/tcp/localhost/${host#*:}
        printf 'GET %s/x HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "${address#"$host"}" "$host" >&3
        head -1 <&3
      done
      """
    let run = try Run(
      program: Run.binary, ["run", "--config", "\(scratch.path)/odd.yaml", "--", "/bin/bash", "-c", script])
    #expect(
      run.output.split(separator: "\r\n").count { $0.hasSuffix("HTTP/1.1 200 OK") } == 2, "\(run.output)\(run.errors)")
  }

  @Test func `run adds this machine to no_proxy`() throws {
    let run = try runShell(
      "echo $no_proxy $NO_PROXY", environment: ["HTTP_PROXY": "http://proxy.test:3128", "no_proxy": "a.test"])
    #expect(run.output == "a.test,localhost,127.0.0.1,::1 localhost,127.0.0.1,::1\n", "\(run.output)")
  }

  @Test func `run warns of other keys in the environment, and --clean removes the keys`() throws {
    let keys = ["AWS_SECRET_ACCESS_KEY": "aws", "VAULT_TOKEN": "genuine", "GIT_CONFIG_COUNT": "1"]
    let warned = try runShell("echo $AWS_SECRET_ACCESS_KEY", environment: keys)
    #expect(warned.output == "aws\n")
    #expect(warned.errors == (try golden("run-other-keys.txt", for: warned.errors)))
    let clean = try runShell(
      "echo \"[$AWS_SECRET_ACCESS_KEY] $VAULT_TOKEN $GIT_CONFIG_COUNT\"", ["--clean"], environment: keys)
    #expect(
      clean.output.hasPrefix("[] ") && !clean.output.contains("genuine") && clean.output.hasSuffix(" 1\n"),
      "\(clean.output)")
    #expect(clean.errors.isEmpty)
  }

  @Test func `init creates a configuration once, and check and run accept the file`() throws {
    let first = "\(scratch.path)/new/bearerd.yaml"
    let made = try Run("init", "--yes", "--config", first)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Run("check", first).status == 0)
    let again = try Run("init", "--yes", "--config", first)
    let errors = scratch.plain(again.errors)
    #expect(again.status == 1)
    #expect(errors == (try golden("init-again.txt", for: errors)))
    let run = try Run("run", "--config", first, "--", "true")
    #expect(run.status == 0, "\(run.errors)")
  }

  @Test func `init asks at most three questions`() throws {
    let first = "\(scratch.path)/asked/bearerd.yaml"
    let terminal = try PseudoTerminal(Run.binary, ["init", "--config", first], columns: 100, lines: 30)
    func wait(forPrompt number: Int) -> Bool {
      eventually { terminal.output.components(separatedBy: "]: ").count > number && terminal.output.hasSuffix(" ") }
    }
    #expect(wait(forPrompt: 1))
    terminal.type("7171\r")
    if getuid() < 1_000 {
      #expect(wait(forPrompt: 2))
      terminal.type("no such user\r")
      #expect(wait(forPrompt: 3))
      let text = terminal.output.replacing("\r\n", with: "\n").replacing("[\(NSUserName())]", with: "[ME]") + "\n"
      #expect(text == (try golden("init-questions.txt", for: text)))
      terminal.type("\r")
    }
    #expect(terminal.waitForExit() == 0, "\(terminal.output)")
    #expect(try String(contentsOfFile: first, encoding: .utf8).contains("localhost:7171"))
  }

  @Test func `commands tell how to create a missing configuration`() throws {
    let nowhere = "\(scratch.path)/nowhere.yaml"
    var text = ""
    for arguments in [["check", nowhere], ["env", "--config", nowhere], ["run", "--config", nowhere, "--", "true"]] {
      let run = try Run(program: Run.binary, arguments)
      #expect(run.status == 2, "\(arguments)")
      text += transcript(arguments, run.text)
    }
    let daemon = try Run(program: RunningDaemon.binary("bearerd"), ["--config", nowhere])
    #expect(daemon.status == 2)
    text = scratch.plain(text + "$ bearerd --config \(nowhere)\n\(daemon.text)")
    #expect(text == (try golden("no-configuration.txt", for: text)))
  }
}
