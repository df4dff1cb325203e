import Foundation
import TestSupport
import Testing

/// The manual pages are complete, and document nothing else.
@Suite struct ManualTests {
  static let root = repositoryRoot
  static let pages = ["bearerctl.1", "bearerd.yaml.5", "bearerd.8"]

  /// Returns the lines below each `.Ss` of a page, and below "" the lines before the first.
  private static func sections(_ page: String) throws -> [String: [String]] {
    var sections: [String: [String]] = [:]
    var name = ""
    for line in try String(contentsOfFile: "\(root)/docs/man/\(page)", encoding: .utf8).components(separatedBy: "\n") {
      if line.hasPrefix(".Ss ") { name = String(line.dropFirst(4)) }
      if line.hasPrefix(".Sh ") { name = line == ".Sh DESCRIPTION" ? "" : line }
      sections[name, default: []].append(line)
    }
    return sections
  }

  /// Returns the options in lines like `.It Fl c , Fl -config Ar file`.
  private static func options(_ lines: [String]) -> Set<String> {
    Set(
      lines.filter { $0.hasPrefix(".It Fl ") }.flatMap { line in
        line.matches(of: /Fl (-?[A-Za-z][A-Za-z-]*)/).map { String($0.1) }
      })
  }

  /// The output of `--experimental-dump-help`.
  private struct Dump: Decodable {
    struct Command: Decodable {
      let commandName: String
      let arguments: [Argument]?
      let subcommands: [Command]?
      let shouldDisplay: Bool
    }
    struct Argument: Decodable {
      struct Name: Decodable { let name: String }
      let names: [Name]?
      let shouldDisplay: Bool
    }
    let command: Command
  }

  @Test func `bearerctl(1) documents exactly the commands and options of bearerctl`() throws {
    let help = try Run("--experimental-dump-help")
    let command = try JSONDecoder().decode(Dump.self, from: Data(help.output.utf8)).command
    let sections = try Self.sections("bearerctl.1")
    let common: Set<String> = ["-version", "-help", "h"]
    #expect(Self.options(sections[""] ?? []) == common)
    let commands = (command.subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay }.flatMap {
      command in
      (command.subcommands ?? []).isEmpty
        ? [command]
        : (command.subcommands ?? []).map {
          Dump.Command(
            commandName: "\(command.commandName) \($0.commandName)", arguments: $0.arguments, subcommands: nil,
            shouldDisplay: true)
        }
    }
    #expect(commands.count >= 5)
    for command in commands {
      let names = (command.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }.map(\.name)
      let meant = Set(names.map { $0.count == 1 ? $0 : "-" + $0 }).subtracting(common)
      #expect(Self.options(sections[command.commandName] ?? []) == meant, "bearerctl \(command.commandName)")
      #expect(sections[command.commandName] != nil, "bearerctl \(command.commandName)")
    }
    let titles = Set(sections.keys.filter { !$0.isEmpty && !$0.hasPrefix(".Sh") })
    #expect(titles == Set(commands.map(\.commandName)))
  }

  @Test func `bearerd(8) documents exactly the options of bearerd`() throws {
    let help = try run([RunningDaemon.binary("bearerd"), "--help"]).output
    let meant = Set(help.matches(of: /\n +(--[a-z-]+)\s/).map { String($0.1.dropFirst()) })
    let written = Self.options(try Self.sections("bearerd.8")[""] ?? []).filter { $0.hasPrefix("-") }
    #expect(!meant.isEmpty && written == meant)
  }

  @Test(.enabled(if: hasCommand("mandoc"), "needs mandoc"), arguments: pages)
  func `mandoc reports no problem in a page`(_ page: String) throws {
    let lint = try run(["mandoc", "-Tlint", "-W", "warning", "\(Self.root)/docs/man/\(page)"])
    #expect(lint.status == 0 && lint.output.isEmpty, "\(lint.output)")
  }

  @Test(.enabled(if: hasCommand("groff"), "needs groff"), arguments: pages)
  func `groff reports no problem in a page`(_ page: String) throws {
    let lint = try run(["groff", "-ww", "-mdoc", "-Tutf8", "-z", "\(Self.root)/docs/man/\(page)"])
    #expect(lint.status == 0 && lint.errors.isEmpty, "\(lint.errors)")
  }
}
