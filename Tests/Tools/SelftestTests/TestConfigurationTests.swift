import Console
import Configuration
import Foundation
import Policy
import Settings
import Generations
import Loading
import TestServer
import TestSupport
import Testing

@testable import Selftest

/// The configuration that replaces the user's configuration in a self-test.
@Suite struct TestConfigurationTests {
  @Test(arguments: exampleNames())
  func `the self-test attacks every service of each example`(name: String) throws {
    let scratch = try Scratch()
    let file = try exampleConfiguration(name, in: scratch)
    let settings = try ConfigurationLoader.load(file).settings
    let servers = try SelftestUpstreams(for: settings.rules.services)
    defer { for upstream in servers.all + [servers.evil] { upstream.server.stop() } }
    let derived = TestConfiguration(
      tree: try #require(ConfigurationTree(reading: Array(try Data(contentsOf: URL(fileURLWithPath: file))))),
      uid: getuid(), origins: servers.standIns, unusedOrigin: servers.evil.origin, directory: scratch.path,
      pins: [servers.authority.leaf.pin, servers.authority.backup.pin])
    let standInDirectory = try Scratch()
    try standInDirectory.write("ca.pem", servers.authority.root.pem, mode: 0o644)
    let secrets = Canary.secrets(for: settings)
    for (file, secret) in secrets { try standInDirectory.write(file, secret + "\n") }
    let standIn = try ConfigurationLoader.load(standInDirectory.write("bearerd.yaml", derived.text)).settings
    #expect(standIn.rules.services.map(\.name) == settings.rules.services.map(\.name))
    #expect(!Canary.all(of: standIn, secrets).isEmpty)
    let snapshot = ConfigurationLoader.snapshot(
      of: standIn, generation: 1, ports: standIn.listeners.map { _ in [7070] })
    let finder = TargetFinder(
      settings: standIn, snapshot: snapshot,
      endpoints: Dictionary(
        uniqueKeysWithValues: standIn.listeners.map { ($0.name, .port(7070, hosts: ["localhost"])) }),
      upstreams: servers.all)
    #expect(finder.targets(only: nil).map(\.name) == standIn.rules.services.map(\.name))
  }

  @Test
  func `the user's pin policies and revocation lists apply only in the attacks that test them`() throws {
    let scratch = try Scratch()
    try scratch.write("company.crl", Certificate.authority("company").revocationListPEM(), mode: 0o644)
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      pin_policies:
        example.com:
          pins:
            - sha256/aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28=
            - sha256/aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd20=
          include_subdomains: true
          expires: 2020-01-01
        old.example.com: { exclude: true }
      credentials:
        key: { origins: [https://api.example.com], bearer: { file: key } }
      services:
        pinned:
          upstream: https://api.example.com/
          credential: key
          revocation: { crl_file: company.crl, stapling: use }
        excluded: { upstream: https://old.example.com/, credential: none }

      """
    let settings = try ConfigurationLoader.load(scratch.write("bearerd.yaml", text, mode: 0o644)).settings
    let servers = try SelftestUpstreams(for: settings.rules.services)
    defer { for upstream in servers.all + [servers.evil] { upstream.server.stop() } }
    let root = servers.authority.root
    let standInDirectory = try Scratch()
    try standInDirectory.write("ca.pem", root.pem, mode: 0o644)
    try standInDirectory.write("test.crl", root.revocationListPEM(), mode: 0o644)
    for (file, secret) in Canary.secrets(for: settings) { try standInDirectory.write(file, secret + "\n") }
    var derived = TestConfiguration(
      tree: try #require(ConfigurationTree(reading: Array(text.utf8))), uid: getuid(), origins: servers.standIns,
      unusedOrigin: servers.evil.origin, directory: scratch.path,
      pins: [servers.authority.leaf.pin, servers.authority.backup.pin])
    let usual = try ConfigurationLoader.load(standInDirectory.write("bearerd.yaml", derived.text)).settings
    #expect(usual.rules.services.map(\.trust.pinning.pins) == [[], []])
    #expect(usual.rules.services.map(\.trust.revocation) == [nil, nil])

    for host in ["api.example.com", "old.example.com"] {
      let origin = try Origin(parsing: "https://\(host)")
      let standIn = try #require(servers.standIns[origin])
      derived.serverNames[standIn] = origin.host
    }
    derived.revocationList = "test.crl"
    let attacked = try ConfigurationLoader.load(standInDirectory.write("bearerd.yaml", derived.text)).settings
    #expect(attacked.rules.services.map { $0.trust.pinning.pins.map(\.description) } == [derived.pins, []])
    #expect(attacked.rules.services.map(\.trust.pinning.expires) == [nil, nil])
    let revocation = try #require(attacked.rules.services[0].trust.revocation)
    #expect(revocation.listFile?.hasSuffix("/test.crl") == true && revocation.stapling == .use)
    #expect(derived.policyHost(of: "excluded") == (try HostName(parsing: "old.example.com")))
  }
}
