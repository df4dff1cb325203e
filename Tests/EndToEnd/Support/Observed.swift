import Foundation
import ServerSupport
import TestSupport

/// What the kernel says of a process.
struct Observed {
  let pid: pid_t

  /// Resident memory in KiB, now and at its highest.
  var resident: Int { status("VmRSS") }
  var residentPeak: Int { status("VmHWM") }
  /// Memory that cannot be swapped out, in KiB.
  var locked: Int { status("VmLck") }

  /// The sanitizers keep what was freed: what they watch has no constant memory.
  static let isMemoryMeasurable = !isSanitized

  /// Whether the highest of resident memory has grown by less than `limit` KiB since it was `before`.
  func hasGrown(since before: Int, byLessThan limit: Int) -> Bool {
    !Self.isMemoryMeasurable || residentPeak - before < limit
  }

  var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? -1 }

  /// The inodes of the sockets that it holds open.
  var sockets: Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
    let targets = names.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
    }
    return Set(targets.filter { $0.hasPrefix("socket:[") }.map { String($0.dropFirst("socket:[".count).dropLast()) })
  }

  /// The inodes of its namespace's TCP sockets that have, or wait for, a peer: one that was reset is not among them.
  var liveTCP: Set<String> {
    let bytes = ["tcp", "tcp6"].map { FileHandle(forReadingAtPath: "/proc/\(pid)/net/\($0)")?.readDataToEndOfFile() }
    let text = bytes.map { String(decoding: $0 ?? Data(), as: UTF8.self) }
    return Set(text.joined().split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init))
  }

  /// Whether it wants the processor most of the time for about a second, be the machine busy or not.
  func spins() -> Bool {
    var running = 0
    for _ in 0..<50 {
      usleep(20_000)
      let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
      if text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first == "R" { running += 1 }
    }
    return running > 25
  }

  private func status(_ name: String) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return -1 }
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? -1
  }
}

extension Stage {
  var observed: Observed { Observed(pid: daemon!.pid) }
}
