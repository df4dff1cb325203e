import Foundation
import TestSupport
import Testing

@Suite struct InstallationTests {
  private static func make(_ target: String, _ destination: String, prefix: String) throws -> CommandResult {
    try run([
      "make", "-C", ManualTests.root, target, "release=\(RunningDaemon.binary("."))", "DESTDIR=\(destination)",
      "PREFIX=\(prefix)",
    ])
  }

  /// Returns the paths of all files below a directory.
  private static func files(_ destination: String) -> Set<String> {
    let all = FileManager.default.enumerator(atPath: destination)?.compactMap { $0 as? String } ?? []
    return Set(
      all.filter { path in
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: destination + "/" + path, isDirectory: &isDirectory)
          && !isDirectory.boolValue
      })
  }

  @Test(arguments: ["/usr", "/opt/local"])
  func `uninstall leaves only the configuration`(_ prefix: String) throws {
    let scratch = try Scratch()
    let installed = try Self.make("install", scratch.path, prefix: prefix)
    #expect(installed.status == 0, "\(installed.errors)")
    let files = Self.files(scratch.path)
    let below = String(prefix.dropFirst())
    for wanted in [
      "bin/bearerd", "bin/bearerctl", "lib/systemd/system/bearerd.service", "lib/systemd/system/bearerd.socket",
      "lib/systemd/user/bearerd.service", "lib/systemd/user/bearerd.socket", "lib/sysusers.d/bearerd.conf",
      "lib/tmpfiles.d/bearerd.conf", "share/man/man8/bearerd.8", "share/man/man5/bearerd.yaml.5",
      "share/man/man1/bearerctl.1", "share/bash-completion/completions/bearerctl",
      "share/zsh/site-functions/_bearerctl", "share/fish/vendor_completions.d/bearerctl.fish",
      "share/bearerd/bearerd.schema.json", "share/doc/bearerd/README.md",
    ] {
      #expect(files.contains("\(below)/\(wanted)"), "\(wanted)")
    }
    #expect(files.contains("etc/bearerd/bearerd.yaml"))
    for file in files where !file.contains("/bin/") {
      let text = try String(contentsOfFile: "\(scratch.path)/\(file)", encoding: .utf8)
      #expect(!text.isEmpty && !text.contains("/usr/local/"), "\(file)")
    }
    // A changed configuration is kept.
    try scratch.write("etc/bearerd/bearerd.yaml", "mine")
    #expect(try Self.make("install", scratch.path, prefix: prefix).status == 0)
    #expect(try Self.make("uninstall", scratch.path, prefix: prefix).status == 0)
    #expect(Self.files(scratch.path) == ["etc/bearerd/bearerd.yaml"])
    #expect(try String(contentsOfFile: scratch.path + "/etc/bearerd/bearerd.yaml", encoding: .utf8) == "mine")
    for directory in ["share/bearerd", "share/doc/bearerd"] {
      #expect(!FileManager.default.fileExists(atPath: "\(scratch.path)\(prefix)/\(directory)"))
    }
  }

  @Test func `all links of the installed documents are valid`() throws {
    let scratch = try Scratch()
    #expect(try Self.make("install", scratch.path, prefix: "/usr").status == 0)
    let folder = scratch.path + "/usr/share/doc/bearerd"
    let documents = Self.files(folder).filter { $0.hasSuffix(".md") }
    #expect(documents.count >= 30)
    for document in documents {
      let text = try String(contentsOfFile: "\(folder)/\(document)", encoding: .utf8)
      let directory = (("\(folder)/\(document)") as NSString).deletingLastPathComponent
      for match in text.matches(of: /\]\(([^)#]+)(#[^)]*)?\)/) where !match.1.contains("://") {
        let target = match.1.hasPrefix("/") ? "\(scratch.path)\(match.1)" : "\(directory)/\(match.1)"
        #expect(FileManager.default.fileExists(atPath: target), "\(document): \(match.1)")
      }
    }
  }
}
