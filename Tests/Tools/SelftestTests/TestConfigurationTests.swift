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
}
