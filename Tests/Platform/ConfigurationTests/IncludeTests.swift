@testable import Configuration
import Policy
import Settings
import Testing

@Suite struct IncludeTests {
  private static let main = """
    include: [conf.d/*.yaml]
    services: { own: { upstream: https://own.example/, credential: none } }

    """

  private static func service(_ name: String) -> String {
    """
    credentials: { \(name): { origins: [https://\(name).example], bearer: { file: \(name).key } } }
    services: { \(name): { upstream: https://\(name).example/, credential: \(name) } }

    """
  }

  /// - Parameter files: Names and contents of the files in `conf.d`, in the order of reading.
  private func read(
    _ main: String = main, _ files: [(String, String)], modes: [String: UInt32] = [:], unreadable: Set<String> = []
  ) -> Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors> {
    var machine = Machine()
    for (name, mode) in modes { machine.files["/etc/bearerd/conf.d/\(name)"] = (0, mode, true) }
    var environment = machine.environment
    let texts = Dictionary(uniqueKeysWithValues: files.map { ("/etc/bearerd/conf.d/\($0.0)", Array($0.1.utf8)) })
    environment.files.matching = { pattern, directory in
      pattern == "conf.d/*.yaml"
        ? .success(files.map { "\(directory)/conf.d/\($0.0)" })
        : .success([pattern.hasPrefix("/") ? pattern : "\(directory)/\(pattern)"])
    }
    environment.files.text = { path in
      guard !unreadable.contains(path), let text = texts[path] else { return .failure(FileProblem("no")) }
      return .success(text)
    }
    return ConfigurationReader.read(text: Array(main.utf8), file: Machine.file, environment: environment)
  }

  private func errors(_ main: String = main, _ files: [(String, String)], modes: [String: UInt32] = [:]) -> [String] {
    guard case .failure(let errors) = read(main, files, modes: modes) else { return [] }
    return errors.diagnostics.filter { $0.severity == .error }.map {
      "\($0.file):\($0.line):\($0.column): \($0.message)"
    }
  }

  @Test func `included files form one configuration, with paths relative to the file that contains them`() throws {
    let (settings, _) = try read(files: [("a.yaml", Self.service("a")), ("b.yaml", "\u{FEFF}" + Self.service("b"))])
      .get()
    #expect(settings.rules.services.map(\.name) == ["own", "a", "b"])
    #expect(settings.included == ["/etc/bearerd/conf.d/a.yaml", "/etc/bearerd/conf.d/b.yaml"])
    #expect((0..<3).map(settings.file(ofService:)) == [Machine.file] + settings.included)
    #expect(settings.credentials.map(\.scheme) == ["a", "b"].map { .bearer(.file("/etc/bearerd/conf.d/\($0).key")) })
  }

  private func read(files: [(String, String)]) -> Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors>
  {
    read(Self.main, files)
  }

  @Test func `a service may use a credential of an included file`() throws {
    let main = "include: [conf.d/*.yaml]\nservices: { own: { upstream: https://a.example/, credential: a } }\n"
    let (settings, _) = try read(main, [("a.yaml", Self.service("a"))]).get()
    #expect(settings.rules.services.map(\.credential) == [.inject(0), .inject(0)])
  }

  @Test func `a message names the included file and the line`() {
    let found = errors(files: [
      ("a.yaml", Self.service("a")), ("b.yaml", "services:\n  b: { upstrem: https://b.example/ }\n"),
    ])
    #expect(found.first?.hasPrefix("/etc/bearerd/conf.d/b.yaml:2:8: ") == true, "\(found)")
  }

  private func errors(files: [(String, String)], modes: [String: UInt32] = [:]) -> [String] {
    errors(Self.main, files, modes: modes)
  }

  @Test func `a duplicate name is reported with both locations`() {
    let found = errors(files: [("a.yaml", Self.service("a")), ("b.yaml", Self.service("a"))])
    #expect(
      found == [
        "/etc/bearerd/conf.d/b.yaml:1:16: this name is already used on line 1 of /etc/bearerd/conf.d/a.yaml",
        "/etc/bearerd/conf.d/b.yaml:2:13: this name is already used on line 2 of /etc/bearerd/conf.d/a.yaml",
      ])
    let own = errors(files: [("a.yaml", Self.service("own"))])
    #expect(own.first?.hasSuffix("already used on line 2 of /etc/bearerd/bearerd.yaml") == true, "\(own)")
  }

  @Test func `settings of the whole daemon are allowed only in the main file`() {
    let found = errors(files: [("a.yaml", "limits: { head: 32KiB }\ninclude: [b.yaml]\nservice: {}\n")])
    #expect(
      found.map { $0.replacing("/etc/bearerd/conf.d/", with: "") } == [
        "a.yaml:1:1: \"limits\" is only allowed in the main file",
        "a.yaml:2:1: \"include\" is only allowed in the main file",
        "a.yaml:3:1: unknown key \"service\" in the file",
      ])
  }

  @Test(arguments: ["", "# nothing\n", "services: {}\n"]) func `an included file may be empty or have no services`(
    text: String
  ) throws {
    #expect(try read(files: [("a.yaml", text)]).get().0.rules.services.count == 1)
  }

  @Test(arguments: ["[]", "a", "services: 5\n", "services:\n", "a: [", "\u{202E}: 1"])
  func `an invalid included file is reported as an error in that file`(text: String) {
    let found = errors(files: [("a.yaml", text)])
    #expect(found.first?.hasPrefix("/etc/bearerd/conf.d/a.yaml:") == true, "\(found)")
  }

  @Test func `an included file that others can write is an error`() {
    let found = errors(files: [("a.yaml", Self.service("a"))], modes: ["a.yaml": 0o666])
    #expect(
      found == [
        "/etc/bearerd/conf.d/a.yaml:0:0: others can write this file (mode 0666), and could send your credentials to another server"
      ])
  }

  @Test func `a pattern may match no file, and a missing file is an error`() throws {
    #expect(try read(files: []).get().0.included.isEmpty)
    let missing = errors("include: [parts/one.yaml]\nservices: {}\n", [])
    #expect(missing == ["/etc/bearerd/bearerd.yaml:1:11: /etc/bearerd/parts/one.yaml cannot be read: no"])
    let only = try read("include: [conf.d/*.yaml]\n", []).get()
    #expect(only.warnings.map(\.message).contains("there are no services yet: every request gets 404"))
  }

  @Test func `a secret in an included file is not shown`() {
    let text =
      "credentials: { a: { origins: [https://a.example], bearer: ghp_0123456789012345678901234567890123456789 } }\n"
    guard case .failure(let errors) = read(files: [("a.yaml", text)]) else { return #expect(Bool(false)) }
    #expect(errors.diagnostics.allSatisfy { !"\($0)".contains("ghp_0") })
  }

  @Test func `the tree of the main file contains the entries of the included files`() {
    var environment = Machine().environment
    environment.files.matching = { _, _ in .success(["/etc/bearerd/conf.d/a.yaml"]) }
    environment.files.text = { _ in .success(Array(Self.service("a").utf8)) }
    let tree = ConfigurationReader.tree(text: Array(Self.main.utf8), file: Machine.file, environment: environment)
    #expect(tree?["include"] == nil && tree?["services"]?["a"] != nil && tree?["services"]?["own"] != nil)
    #expect(tree?["credentials"]?["a"] != nil)
  }
}
