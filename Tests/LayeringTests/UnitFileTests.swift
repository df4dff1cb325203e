import Foundation
import TestSupport
import Testing

/// The systemd unit that ships.
@Suite struct UnitFileTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
  private static let analyze = "/usr/bin/systemd-analyze"

  /// `--threshold` is in tenths: a unit that is more exposed than 1.5 of 10 makes it fail.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"))
  func `the unit's exposure is 1.5 or better`() throws {
    let run = try run([
      Self.analyze, "security", "--offline=true", "--threshold=15", "--no-pager",
      "\(Self.root)/systemd/bearerd.service",
    ])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("Overall exposure level for bearerd.service"))
  }

  /// Without them no caller would be known: every one of them is asked of the kernel.
  @Test func `the sandbox lets callers be known`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_NETLINK") })
    #expect(lines.contains("PrivateUsers=no") && lines.contains("PrivateNetwork=no"))
  }
}
