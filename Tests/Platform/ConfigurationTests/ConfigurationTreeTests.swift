import Configuration
import Foundation
import TestSupport
import Testing

@Suite struct ConfigurationTreeTests {
  private static let root = repositoryRoot

  private static func files() throws -> [String] {
    let examples = try FileManager.default.contentsOfDirectory(atPath: "\(root)/config/examples")
    return ["Tests/Mutations/selftest.yaml"]
      + examples.filter { $0.hasSuffix(".yaml") }.map { "config/examples/\($0)" }
  }

  @Test func `every example is unchanged after it is written and read again`() throws {
    for file in try Self.files() {
      let text = try String(contentsOfFile: "\(Self.root)/\(file)", encoding: .utf8)
      let tree = try #require(ConfigurationTree(reading: Array(text.utf8)), "\(file)")
      let again = try #require(ConfigurationTree(reading: Array(tree.yaml.utf8)), "\(file): \(tree.yaml)")
      #expect(again.yaml == tree.yaml, "\(file)")
      #expect(again["services"]?.isMapping == true, "\(file)")
    }
  }

  @Test(
    arguments: [
      "", "no", "~", "null", "- x", "a: b", "{x}", "[", "\"", "'", "\\", "a\"b\\c", "#", " x ", "%2f", "**", "&a", "*a",
      "!t",
      "|", ">", "é", "\u{1F600}", "\u{7F}", "\u{85}", "0x1", "sha256/a+b=", "Bot ", "//", "?",
    ])
  func `text stays text after it is written and read, whatever characters it contains`(_ text: String) throws {
    let tree = ConfigurationTree.mapping([
      .init("a", .text(text)), .init("b", .sequence([.text(text), .mapping([.init("c", .text(text))])])),
      .init("d", .mapping([.init(text + "k", .scalar("", isPlain: true))])),
    ])
    let again = try #require(ConfigurationTree(reading: Array(tree.yaml.utf8)), "\(tree.yaml)")
    #expect(again["a"] == .text(text))
    #expect(again["b"] == .sequence([.text(text), .mapping([.init("c", .text(text))])]))
    #expect(again["d"]?[text + "k"] == .scalar("", isPlain: true))
  }

  @Test func `a file that is not a valid configuration has no tree`() {
    for text in ["", "a: &x 1", "a: 1\na: 2", "a: {", "\u{202E}"] {
      #expect(ConfigurationTree(reading: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `keys can be set, added and removed`() throws {
    var tree = try #require(ConfigurationTree(reading: Array("a: { x: 1, y: 2 }\nb: [1, 2]\n".utf8)))
    tree["a"] = tree["a"]?.mapValues { key, value in key == "x" ? .text("new") : value }
    tree["b"] = tree["b"]?.mapElements { _ in .text("e") }
    tree["c"] = .text("added")
    #expect(tree["a"]?["x"] == .text("new"))
    #expect(tree["b"] == .sequence([.text("e"), .text("e")]))
    tree["a"] = nil
    tree["nothing"] = nil
    #expect(tree == .mapping([.init("b", .sequence([.text("e"), .text("e")])), .init("c", .text("added"))]))
  }
}
