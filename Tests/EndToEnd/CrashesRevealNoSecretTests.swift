import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

/// Neither a crash nor a debugger reveals the secret.
@Suite(.waits) struct CrashesRevealNoSecret {
  /// Swift's crash reporter would print the registers and the memory to which they point. Here this is the secret.
  @Test(arguments: [nil, "enable=yes,color=no,symbolicate=off,registers=all,threads=all,output-to=stderr"])
  func `T49: a trap with the secret in the registers does not print the secret`(_ backtrace: String?) throws {
    let stage = try Stage()
    try stage.start(environment: backtrace.map { ["SWIFT_BACKTRACE": $0] } ?? [:])
    #expect(try stage.get().status == 200)
    #expect(stage.log.wait(for: .request, ["status": 200]))
    let response = try stage.control("trap")
    // A release build does not have this command, so the test cannot check anything.
    guard response.isEmpty else {
      #expect(response == "error\nThis daemon does not know that request.\n")
      return
    }
    #expect([-SIGILL, -SIGTRAP].contains(stage.daemon!.waitForExit()))
    let log = stage.log
    for word in ["Registers", "Backtrace", "Thread 0", "Images", "rax", "crashed"] { #expect(log.hides(word)) }
    // Printed registers would contain the secret in hexadecimal.
    let bytes = Array(stage.canary.utf8)
    for start in 0...(bytes.count - 4) {
      let hexadecimal = bytes[start..<(start + 4)].map { String($0, radix: 16) }
      for digits in [hexadecimal.joined(), hexadecimal.reversed().joined(), hexadecimal.joined(separator: " ")] {
        #expect(log.hides(digits))
      }
    }
    stage.assertCanary(times: 1)
  }

  @Test func `T49: a crash writes no core file, even if the limits allow one`() throws {
    let stage = try Stage()
    let script = "cd \(stage.scratch.path); ulimit -c unlimited || ulimit -c $(ulimit -H -c); exec \"$@\""
    try stage.start(wrapper: ["/bin/sh", "-c", script, "sh"])
    #expect(try stage.get().status == 200)
    let limits = try String(contentsOfFile: "/proc/\(stage.daemon!.pid)/limits", encoding: .utf8)
    #expect(limits.contains(#/Max core file size +0 +0 /#))
    #expect(stage.daemon!.stop(SIGSEGV) == -SIGSEGV)
    let files = try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path)
    #expect(!files.contains { $0.hasPrefix("core") }, "\(files)")
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T49: gcore of the daemon's own user fails`() throws {
    let stage = try Stage()
    _ = try stage.scratch.write("bearerd.yaml", stage.configuration(), mode: 0o644)
    _ = try run(["chown", "-R", "12345:12345", stage.scratch.path])
    let file = stage.scratch.path + "/bearerd.yaml"
    let daemon = try RunningDaemon(configuration: file, wrapper: ["/usr/bin/env"] + Stage.user(12_345))
    let core = stage.scratch.path + "/core"
    let result = try run(Stage.user(12_345) + ["/usr/bin/gcore", "-o", core, String(daemon.pid)])
    #expect(result.status != 0)
    #expect(result.output.contains("ptrace") || result.errors.contains("ptrace"), "\(result)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path).allSatisfy { !$0.hasPrefix("core") })
    #expect(daemon.isRunning && daemon.stop() == 0)
    stage.assertCanary(times: 0)
  }

  /// Like the kernel, gdb leaves out memory with `MADV_DONTDUMP`.
  @Test(
    .enabled(if: isRoot && Observed.isMemoryMeasurable, "takes another process's core, which a sanitizer makes larger"))
  func `T49: a core file that root writes does not contain the secret, which is only in locked memory`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    let client = try stage.client()
    let head = try stage.head("GET")
    for _ in 0..<100 {
      try client.send(head)
      #expect(try client.response().status == 200)
    }
    let result = try run(
      ["gcore", "-o", stage.scratch.path + "/core", String(daemon.pid)], environment: ["DEBUGINFOD_URLS": ""])
    #expect(result.status == 0, "\(result)")
    let core = try Data(
      contentsOf: URL(fileURLWithPath: stage.scratch.path + "/core.\(daemon.pid)"), options: .alwaysMapped)
    #expect(core.range(of: Data(stage.origin.utf8)) != nil, "it is the right memory")
    let forms = Stage.encodings(of: stage.canary).map { Data($0.utf8) }
    for (index, form) in forms.enumerated() { #expect(core.range(of: form) == nil, "form \(index)") }
    let holding = try Memory.regions(of: daemon.pid).filter { region in
      guard let bytes = Memory.read(region, of: daemon.pid) else { return false }
      return forms.contains { bytes.range(of: $0) != nil }
    }
    #expect(!holding.isEmpty && holding.allSatisfy { $0.isLocked && $0.isExcludedFromCores }, "\(holding)")
    stage.assertCanary(times: 100)
  }
}
