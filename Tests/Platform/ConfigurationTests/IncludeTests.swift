@testable import Configuration
import Policy
import Testing

/// `include`: further files with listeners, credentials and services of their own.
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

  /// - Parameter files: of `conf.d`, by name, in the order of reading.
  private func read(
    _ main: String = main, _ files: [(String, String)], modes: [String: UInt32] = [:], unreadable: Set<String> = []
  ) -> Result<(Settings, warnings: [Diagnostic]), ConfigurationErrors> {
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

  @Test func `what the files have is one configuration, and paths start at their own file`() throws {
    let (settings, _) = try read(files: [("a.yaml", Self.service("a")), ("b.yaml", "\u{FEFF}" + Self.service("b"))])
      .get()
    #expect(settings.rules.services.map(\.name) == ["own", "a", "b"])
    #expect(settings.included == ["/etc/bearerd/conf.d/a.yaml", "/etc/bearerd/conf.d/b.yaml"])
    #expect((0..<3).map(settings.file(ofService:)) == [Machine.file] + settings.included)
    #expect(settings.credentials.map(\.scheme) == ["a", "b"].map { .bearer(.file("/etc/bearerd/conf.d/\($0).key")) })
  }

  private func read(files: [(String, String)]) -> Result<(Settings, warnings: [Diagnostic]), ConfigurationErrors> {
    read(Self.main, files)
  }

  @Test func `a service may use a credential of another file`() throws {
    let main = "include: [conf.d/*.yaml]\nservices: { own: { upstream: https://a.example/, credential: a } }\n"
    let (settings, _) = try read(main, [("a.yaml", Self.service("a"))]).get()
    #expect(settings.rules.services.map(\.credential) == [.inject(0), .inject(0)])
  }

  @Test func `messages name the file and its line`() {
    let found = errors(files: [
      ("a.yaml", Self.service("a")), ("b.yaml", "services:\n  b: { upstrem: https://b.example/ }\n"),
    ])
    #expect(found.first == "/etc/bearerd/conf.d/b.yaml:2:8: unknown key \"upstrem\" in a service", "\(found)")
  }

  private func errors(files: [(String, String)], modes: [String: UInt32] = [:]) -> [String] {
    errors(Self.main, files, modes: modes)
  }

  @Test func `a name that is taken names both places`() {
    let found = errors(files: [("a.yaml", Self.service("a")), ("b.yaml", Self.service("a"))])
    #expect(
      found == [
        "/etc/bearerd/conf.d/b.yaml:1:16: this name is already used on line 1 of /etc/bearerd/conf.d/a.yaml",
        "/etc/bearerd/conf.d/b.yaml:2:13: this name is already used on line 2 of /etc/bearerd/conf.d/a.yaml",
      ])
    let own = errors(files: [("a.yaml", Self.service("own"))])
    #expect(own.first?.hasSuffix("already used on line 2 of /etc/bearerd/bearerd.yaml") == true, "\(own)")
  }

  @Test func `what is about the whole daemon stands in the main file`() {
    let found = errors(files: [("a.yaml", "limits: { head: 32KiB }\ninclude: [b.yaml]\nservice: {}\n")])
    #expect(
      found.map { $0.replacing("/etc/bearerd/conf.d/", with: "") } == [
        "a.yaml:1:1: \"limits\" is only allowed in the main file",
        "a.yaml:2:1: \"include\" is only allowed in the main file",
        "a.yaml:3:1: unknown key \"service\" in the file",
      ])
  }

  @Test(arguments: ["", "# nothing\n", "services: {}\n"]) func `a file may say nothing`(text: String) throws {
    #expect(try read(files: [("a.yaml", text)]).get().0.rules.services.count == 1)
  }

  @Test(arguments: ["[]", "a", "services: 5\n", "services:\n", "a: [", "\u{202E}: 1"])
  func `a file that is none is an error in it`(text: String) {
    let found = errors(files: [("a.yaml", text)])
    #expect(found.first?.hasPrefix("/etc/bearerd/conf.d/a.yaml:") == true, "\(found)")
  }

  @Test func `who can write a file decides where credentials go`() {
    let found = errors(files: [("a.yaml", Self.service("a"))], modes: ["a.yaml": 0o666])
    #expect(
      found == [
        "/etc/bearerd/conf.d/a.yaml:0:0: others can write this file (mode 0666), and could send your credentials to another server"
      ])
  }

  @Test func `no file is no error, and one that cannot be read is`() throws {
    #expect(try read(files: []).get().0.included.isEmpty)
    let missing = errors("include: [parts/one.yaml]\nservices: {}\n", [])
    #expect(missing == ["/etc/bearerd/bearerd.yaml:1:11: /etc/bearerd/parts/one.yaml cannot be read: no"])
    let only = try read("include: [conf.d/*.yaml]\n", []).get()
    #expect(only.warnings.map(\.message).contains("there are no services yet: every request gets 404"))
  }

  @Test func `a secret in a file is not shown`() {
    let text =
      "credentials: { a: { origins: [https://a.example], bearer: ghp_0123456789012345678901234567890123456789 } }\n"
    guard case .failure(let errors) = read(files: [("a.yaml", text)]) else { return #expect(Bool(false)) }
    #expect(errors.diagnostics.allSatisfy { !"\($0)".contains("ghp_0") })
  }

  @Test func `the whole is one tree for those who write another one of its shape`() {
    var environment = Machine().environment
    environment.files.matching = { _, _ in .success(["/etc/bearerd/conf.d/a.yaml"]) }
    environment.files.text = { _ in .success(Array(Self.service("a").utf8)) }
    let tree = ConfigurationReader.tree(text: Array(Self.main.utf8), file: Machine.file, environment: environment)
    #expect(tree?["include"] == nil && tree?["services"]?["a"] != nil && tree?["services"]?["own"] != nil)
    #expect(tree?["credentials"]?["a"] != nil)
  }
}
