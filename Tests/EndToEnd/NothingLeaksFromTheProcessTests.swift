import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Other processes cannot read secrets from the daemon.
@Suite(.waits) struct NothingLeaksFromTheProcess {
  private func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  @Test func `T49: the daemon has no core limit and no secret in /proc, and its own user cannot read or trace it`()
    throws
  {
    let stage = try Stage()
    var wrapper: [String] = []
    if isRoot {
      try stage.scratch.write("bearerd.yaml", "", mode: 0o644)
      _ = try run(["chown", "-R", "12345:12345", stage.scratch.path])
      wrapper = ["/usr/bin/setpriv"] + Stage.user(12_345).dropFirst() + ["--"]
    }
    try stage.start(wrapper: wrapper)
    #expect(try stage.get().status == 200)
    let process = "/proc/\(stage.daemon!.pid)"
    let limits = String(decoding: try contents(process + "/limits"), as: UTF8.self)
    let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
    #expect(core?.split(whereSeparator: \.isWhitespace).filter { $0 == "0" }.count == 2, "\(core ?? "")")
    stage.assertCanary(times: 1)
    for file in isRoot ? ["/cmdline", "/environ"] : ["/cmdline"] {
      #expect(try contents(process + file).range(of: Data(stage.canary.utf8)) == nil)
    }
    guard isRoot else { return }
    for name in ["mem", "environ", "maps", "auxv", "fd/0"] {
      let result = try run(Stage.user(12_345) + ["head", "-c", "1", "\(process)/\(name)"])
      #expect(result.status != 0 && result.output.isEmpty, "\(name)")
    }
    let trace = try run(
      Stage.user(12_345) + [
        "perl", "-e",
        // ptrace(PTRACE_SEIZE): -1 is refused
        "my $r = syscall(101, 0x4206, $ARGV[0] + 0, 0, 0); print $r == -1 ? 'refused' : 'attached'",
        "\(stage.daemon!.pid)",
      ])
    #if arch(x86_64)
      #expect(trace.output == "refused")
    #endif
  }

  @Test(arguments: [SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE])
  func `T49: a crash prints nothing, even if the environment enables backtraces`(_ signal: Int32) throws {
    let stage = try Stage()
    try stage.start(environment: ["SWIFT_BACKTRACE": "enable=yes,color=no,registers=all,threads=all,output-to=stderr"])
    #expect(try stage.get().status == 200)
    #expect(stage.log.wait(for: .request, ["status": 200]))
    let before = stage.log.bytes
    #expect(stage.daemon!.stop(signal) == -signal)
    #expect(stage.log.bytes == before)
    stage.assertCanary(times: 1)
  }

  @Test(
    .enabled(
      if: isRoot && Observed.isMemoryMeasurable, "reads another process's memory, which a sanitizer keeps longer"))
  func `T50: after 1000 requests, the secret is only in locked memory, in any encoding`() throws {
    let stage = try Stage()
    // The same secret as a token, and as a password, which is sent in Base64.
    let basic =
      "  deploy:\n    origins: [\"\(stage.origin)\"]\n    basic: { user: deploy, password: { file: canary.token } }\n"
    let service = "  deploy: { upstream: \(stage.origin)/, ca_file: ca.pem, credential: deploy }\n"
    try stage.start(
      stage.configuration(services: service).replacing("credentials:\n", with: "credentials:\n" + basic))
    let client = try stage.client()
    let port = try stage.daemon!.port()
    for index in 0..<1_000 {
      let body = index % 3 == 0 ? "0123456789" : ""
      let service = index % 2 == 0 ? "api" : "deploy"
      try client.send(
        "POST /\(service)/\(index) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      )
      #expect(try client.response().status == 200)
    }
    // The old value is wiped after a rotation, too.
    try stage.scratch.write("canary.token", "ROTATED-\(stage.canary.dropFirst(7))-secret")
    #expect(stage.log.wait(for: .credentialChanged, count: 2))
    #expect(try stage.get().status == 200)
    try stage.daemon!.reload()
    #expect(try stage.get().status == 200)

    // The part that both values have in common.
    let forms = Stage.encodings(of: String(stage.canary.dropFirst(7))).map { Data($0.utf8) }
    var leaks: [String] = []
    var found = Set<Int>()
    for region in try Memory.regions(of: stage.daemon!.pid) {
      guard let bytes = Memory.read(region, of: stage.daemon!.pid) else { continue }
      for (form, secret) in forms.enumerated() where bytes.range(of: secret) != nil {
        found.insert(form)
        let isSafe = region.isLocked && region.isExcludedFromCores && region.isWipedOnFork
        if !isSafe { leaks.append("form \(form): \(region.name) \(region.flags)") }
      }
    }
    #expect(found.contains(0) && found.count > 1, "it is the right memory: the text, and base64")
    #expect(leaks.isEmpty, "\(leaks)")
    stage.assertCanary(times: 500)
  }
}

/// Reads the memory of another process. Only root can do this.
enum Memory {
  struct Region {
    let start: UInt64
    let end: UInt64
    let name: String
    let flags: String
    var isLocked: Bool { flags.contains(" lo ") }
    var isExcludedFromCores: Bool { flags.contains(" dd ") }
    var isWipedOnFork: Bool { flags.contains(" wf ") }
  }

  /// Returns the readable regions.
  static func regions(of pid: pid_t) throws -> [Region] {
    var regions: [Region] = []
    var header: (UInt64, UInt64, String)?
    for line in try run(["cat", "/proc/\(pid)/smaps"]).output.split(separator: "\n") {
      if line.hasPrefix("VmFlags:"), let (start, end, name) = header {
        regions.append(Region(start: start, end: end, name: name, flags: line.dropFirst(8) + " "))
      } else if let dash = line.firstIndex(of: "-"), let start = UInt64(line[..<dash], radix: 16) {
        let words = line.split(separator: " ")
        // Leaves out pages of the kernel, such as vsyscall, and reserved ranges.
        guard let end = UInt64(words[0].split(separator: "-")[1], radix: 16), words[1].hasPrefix("r"),
          start < 1 << 63, end - start < 1 << 32
        else {
          header = nil
          continue
        }
        header = (start, end, words.count > 5 ? String(words[5]) : "anonymous")
      }
    }
    return regions
  }

  static func read(_ region: Region, of pid: pid_t) -> Data? {
    let descriptor = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = Data(count: Int(region.end - region.start))
    let count = bytes.withUnsafeMutableBytes {
      pread(descriptor, $0.baseAddress, $0.count, off_t(Int64(bitPattern: region.start)))
    }
    return count > 0 ? bytes.prefix(count) : nil
  }
}
