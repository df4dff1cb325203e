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

  /// As systemd reads them, with the programs of this build in the place of the installed ones.
  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"),
    arguments: ["", "user/"])
  func `systemd has nothing to say about the units`(_ folder: String) throws {
    let scratch = try Scratch()
    let units = ["bearerd.service", "bearerd.socket"]
    for unit in units {
      let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)\(unit)", encoding: .utf8)
      let binaries = (RunningDaemon.binary("bearerd") as NSString).deletingLastPathComponent
      try scratch.write(unit, text.replacing("/usr/local/bin/", with: binaries + "/"), mode: 0o644)
    }
    let manager = folder.isEmpty ? "--system" : "--user"
    let result = try run(
      [Self.analyze, "verify", manager, "--man=no", "--recursive-errors=no"] + units.map { scratch.path + "/" + $0 },
      environment: ["XDG_RUNTIME_DIR": scratch.path])
    #expect(result.status == 0 && !result.errors.contains("bearerd"), "\(result.errors)")
  }

  /// Whatever makes a user's systemd change the file system's view makes a user namespace first.
  @Test func `the user's unit makes no user namespace, from which every caller would look like nobody`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/user/bearerd.service", encoding: .utf8)
    let forbidden =
      /^(Private|Protect(?!ed)|ReadOnly|ReadWrite|Inaccessible|Bind|Mount|RootDirectory|TemporaryFileSystem|User=|Group=)/
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      #expect(line.firstMatch(of: forbidden) == nil, "\(line)")
    }
  }

  /// A limit that is reached makes systemd give the socket unit up, and with it the port (T5).
  @Test(arguments: ["", "user/"]) func `failing starts do not end the socket unit`(_ folder: String) throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.service", encoding: .utf8)
    #expect(text.split(separator: "\n").contains("StartLimitIntervalSec=0"))
    let socket = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.socket", encoding: .utf8)
    #expect(socket.split(separator: "\n").contains("TriggerLimitIntervalSec=0"))
    for line in ["ListenStream=127.0.0.1:7070", "ListenStream=[::1]:7070", "FileDescriptorName=main"] {
      #expect(socket.split(separator: "\n").contains(Substring(line)), "\(line)")
    }
  }

  /// Without them no caller would be known: every one of them is asked of the kernel.
  @Test func `the sandbox lets callers be known`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_NETLINK") })
    #expect(lines.contains("PrivateUsers=no") && lines.contains("PrivateNetwork=no"))
  }
}
