@testable import Configuration
import Foundation
import Policy
import Settings
import TestSupport
import Testing

/// The configuration files that bearerd ships with.
@Suite struct ExamplesTests {
  static let config = URL(fileURLWithPath: "\(repositoryRoot)/config")

  static let examples: [String] = {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: config.appending(path: "examples").path)) ?? []
    return all.filter { $0.hasSuffix(".yaml") && $0 != "reference.yaml" }.sorted()
  }()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: config.appending(path: path), encoding: .utf8)
  }

  @Test func `the examples folder contains exactly the expected files`() {
    let names = [
      "client-certificate", "couchdb-session", "couchdb", "digest", "git-helper", "github", "gitlab", "key-in-query",
      "login", "oauth2", "package-index", "public-subpaths", "registry", "server-name", "two-accounts", "two-headers",
      "unix-socket", "web-page",
    ]
    #expect(Self.examples == names.map { $0 + ".yaml" })
  }

  /// Users add the secret and the pins themselves. Therefore an example may have advice about pins, and no other
  /// warning.
  @Test(arguments: examples) func `every example is valid`(_ name: String) throws {
    var machine = Machine()
    machine.files["/usr/bin/git"] = (0, 0o755, true)
    machine.contents["/etc/bearerd/robot.pem"] = Array("-----BEGIN CERTIFICATE-----\n".utf8)
    let (_, warnings) = try machine.read(Self.text("examples/" + name)).get()
    #expect(warnings.filter { $0.severity != .advice }.map(\.message) == [])
    #expect(warnings.allSatisfy { $0.message.contains(" has no pins") })
  }

  @Test func `reference.yaml is valid before its secret files exist`() throws {
    var machine = Machine()
    machine.files["/etc/bearerd/secrets/github.token"] = .some(nil)
    let (settings, warnings) = try machine.read(Self.text("examples/reference.yaml")).get()
    #expect(settings.rules.services.map(\.name) == ["github"])
    #expect(warnings.filter { $0.severity == .warning }.count == 1)
  }

  @Test func `bearerd.yaml has no services or credentials until its sample is uncommented`() throws {
    let (settings, _) = try Machine().read(Self.text("bearerd.yaml")).get()
    #expect(settings.rules.services.isEmpty && settings.credentials.isEmpty)
    let (sample, _) = try Machine().read(Self.uncommented("bearerd.yaml").replacing("[alice]", with: "[dev]")).get()
    #expect(sample.rules.services.map(\.name) == ["github"])
    #expect(sample.listeners.first?.callers.uids == [1000])
  }

  /// Returns a file without the `#` before keys, so that commented settings apply.
  static func uncommented(_ file: String = "examples/reference.yaml") throws -> String {
    let placeholder = "sha256/…, sha256/…"
    let pins =
      "sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=, sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
    let lines = try Self.text(file).replacingOccurrences(of: placeholder, with: pins)
      .split(separator: "\n", omittingEmptySubsequences: false)
    let key = /^( *)# ( *(- \{|[a-z0-9_]+:).*)$/
    let uncommented = lines.map { line -> String in
      guard let match = line.firstMatch(of: key), !line.hasPrefix("# bearerd:") else { return String(line) }
      return String(match.1 + match.2)
    }
    let socket = (" address: localhost:7070 ", " address: [localhost:7070, unix:/run/b.sock] ")
    return uncommented.joined(separator: "\n").replacingOccurrences(of: socket.0, with: socket.1)
  }

  @Test func `reference.yaml is valid with every commented key uncommented`() throws {
    let text = try Self.uncommented()
    var machine = Machine()
    machine.files["/usr/bin/vault-token"] = (0, 0o755, true)
    machine.files["/usr/bin/git"] = (0, 0o755, true)
    machine.contents["/etc/bearerd/company-ca.pem"] = Array("-----BEGIN CERTIFICATE-----\n".utf8)
    let (settings, _) = try machine.read(text).get()
    #expect(
      settings.credentials.map(\.name) == [
        "github", "registry", "search", "vault", "git", "mail", "panel", "camera", "wiki", "images",
      ])
    #expect(settings.rules.services.first?.rules?.count == 4)
    #expect(settings.controlSocket == "/run/bearerd/control.sock")
    #expect(settings.limits == Limits())
    #expect(settings.requireLockedMemory)
    #expect(settings.listeners.first?.callers.uids == [1000, 1001])
  }
}
