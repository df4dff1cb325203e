import Foundation
import ServerSupport
import TestSupport

/// The kernel's data about a process: memory, descriptors and sockets.
struct Observed {
  let pid: pid_t

  /// Resident memory in KiB.
  var resident: Int { status("VmRSS") }
  /// Highest resident memory so far, in KiB.
  var residentPeak: Int { status("VmHWM") }
  /// Memory that cannot be swapped out, in KiB.
  var locked: Int { status("VmLck") }

  /// `false` under a sanitizer, which keeps freed memory.
  static let isMemoryMeasurable = !isSanitized

  /// Whether `residentPeak` is less than `limit` KiB above `before`.
  func hasGrown(since before: Int, byLessThan limit: Int) -> Bool {
    !Self.isMemoryMeasurable || residentPeak - before < limit
  }

  var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? -1 }

  /// The inodes of the process's open sockets.
  var sockets: Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
    let targets = names.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
    }
    return Set(targets.filter { $0.hasPrefix("socket:[") }.map { String($0.dropFirst("socket:[".count).dropLast()) })
  }

  /// Words of /proc/net/tcp, among them the inodes of all TCP sockets that were not reset.
  var liveTCP: Set<String> {
    let bytes = ["tcp", "tcp6"].map { FileHandle(forReadingAtPath: "/proc/\(pid)/net/\($0)")?.readDataToEndOfFile() }
    let text = bytes.map { String(decoding: $0 ?? Data(), as: UTF8.self) }
    return Set(text.joined().split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init))
  }

  /// Whether the process is runnable in more than half of 50 samples within about a second.
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
