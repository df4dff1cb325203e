@testable import Configuration
import Foundation
import TestSupport
import Testing

/// Reads random variations of valid configurations.
@Suite struct MutatedConfigurationTests {
  /// `MUTATIONS=100000 swift test …` tries more variations.
  private static let rounds = ProcessInfo.processInfo.environment["MUTATIONS"].flatMap(Int.init) ?? 4000

  private static let pieces = [
    "", " ", "  ", "\t", "\n", ":", ": ", "- ", "[", "]", "{", "}", ",", "\"", "'", "#", "&a ", "*a", "!!x ", "|", ">",
    "%", "@", "~",
    "null", "0", "-1", "99999999999999999999", "none", "https://", "unix:/", "localhost:", "::1", "..", "%2F", "\\",
    "\\u0000", "é",
    "\u{202e}", "\u{0}", "<<: ", "? ", "---\n", "credentials:", "services:", "password: ", "bearer: ", "value: ",
  ].map { Array($0.utf8) }

  private static func seeds() throws -> [[UInt8]] {
    let examples = try ExamplesTests.examples.map { Array(try ExamplesTests.text("examples/" + $0).utf8) }
    let golden = try GoldenTests.names.map { name in
      let text = try String(contentsOf: GoldenTests.folder.appending(path: name), encoding: .utf8)
      return Array(text.components(separatedBy: GoldenTests.separator)[0].utf8)
    }
    return examples + golden + [Array(try ExamplesTests.text("examples/reference.yaml").utf8)]
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator, _ seeds: [[UInt8]]) {
    for _ in 0...Int.random(in: 0...3, using: &random) {
      let start = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, start + Int.random(in: 0...12, using: &random))
      switch Int.random(in: 0...5, using: &random) {
      case 0: bytes.removeSubrange(start..<end)
      case 1: bytes.replaceSubrange(start..<end, with: Self.pieces.randomElement(using: &random) ?? [])
      case 2: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random) ?? [], at: start)
      case 3: bytes.insert(contentsOf: bytes[start..<end], at: Int.random(in: 0...bytes.count, using: &random))
      case 4: if start < end { bytes[start] = UInt8.random(in: 0...255, using: &random) }
      default:
        let other = seeds.randomElement(using: &random) ?? []
        bytes = Array(bytes[..<start] + other[min(start, other.count)...])
      }
    }
  }

  @Test func `T59: a mutated configuration is accepted or refused, and never traps`() throws {
    let seeds = try Self.seeds()
    var random = SeededGenerator(state: 1)
    var accepted = 0
    for _ in 0..<Self.rounds {
      var bytes = seeds.randomElement(using: &random) ?? []
      mutate(&bytes, &random, seeds)
      switch ConfigurationReader.read(text: bytes, file: Machine.file, environment: Machine().environment) {
      case .success(let (_, warnings)):
        accepted += 1
        #expect(warnings.allSatisfy { $0.severity != .error && !$0.description.isEmpty })
      case .failure(let errors):
        #expect(errors.diagnostics.contains { $0.severity == .error })
        #expect(errors.diagnostics.allSatisfy { !$0.description.isEmpty && $0.severity != .advice })
      }
    }
    // With fewer accepted files, the mutations would only test the YAML parser.
    #expect(accepted > Self.rounds / 50)
    #expect(accepted < Self.rounds)
  }

  /// A secret in the file is an error. Neither this error nor the other errors may show the secret.
  @Test func `T48: messages about a mutated configuration contain no secret`() throws {
    let seed = """
      listeners: { main: { address: localhost:7070, allow_users: [dev] } }
      credentials:
        one: { origins: [https://one.example.com], bearer: S3CRET }
        two:
          origins: [https://two.example.com]
          basic: { user: deploy, password: "S3CRET" }
        three:
          origins: [https://three.example.com]
          headers:
            - { name: X-Api-Key, value: S3CRET }
            - name: X-Other
              value: |
                S3CRET
                S3CRET
      services:
        one: { upstream: "https://user:S3CRET@one.example.com/", credential: one, set_headers: { Authorization: S3CRET } }
      """
    var random = SeededGenerator(state: 2)
    for _ in 0..<Self.rounds {
      var bytes = Array(seed.utf8)
      for _ in 0...Int.random(in: 0...2, using: &random) {
        let start = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0...2, using: &random) {
        case 0: bytes.remove(at: start)
        case 1:
          bytes.insert(
            contentsOf: ["x", " ", "\"", "[", "}", "- ", "\n"].randomElement(using: &random)?.utf8.map { $0 } ?? [],
            at: start)
        default: bytes.insert(bytes[start], at: start)
        }
      }
      guard
        case .failure(let errors) = ConfigurationReader.read(
          text: bytes, file: Machine.file, environment: Machine().environment)
      else { continue }
      let shown = errors.diagnostics.map(\.description).joined(separator: "\n")
      #expect(!shown.contains("S3CRET"), "\(String(decoding: bytes, as: UTF8.self))")
    }
  }
}
