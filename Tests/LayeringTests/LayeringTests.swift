import Glibc
import TestSupport
import Testing

/// Target dependencies are no wall: an incremental build lets undeclared imports through. This is the wall.
@Suite struct LayeringTests {
  @Test func `no module imports what the table does not say, and the table says nothing that nobody imports`() throws {
    #expect(Set(storeys.flatMap(\.modules)) == Set(floors.keys), "a module without a row, or the other way round")
    for (module, arrows) in floors {
      let allowed = allowedImports(of: module) ?? []
      var all: Set<String> = []
      for file in try swiftFiles(of: module) {
        let found = Set(importedModules(in: try text(of: file)))
        #expect(found.isSubset(of: allowed), "\(file) imports \(found.subtracting(allowed).sorted())")
        all.formUnion(found)
      }
      #expect(arrows.isSubset(of: all), "\(module) imports none of \(arrows.subtracting(all).sorted())")
    }
  }

  @Test func `the listing shows the storeys, and no module imports a later one`() throws {
    #expect(try entries(of: "\(repositoryRoot)/Sources").sorted() == storeys.map(\.name).sorted())
    var below: Set<String> = []
    for (name, modules) in storeys {
      let libraries = try subfolders(of: "Sources/\(name)").filter {
        try swiftFiles(in: "Sources/\(name)/\($0)").isEmpty
      }
      let found = Set(try subfolders(of: "Sources/\(name)")).subtracting(libraries)
      #expect(found == Set(modules), "Sources/\(name)")
      for module in modules {
        let upwards = (floors[module] ?? []).filter { floors[$0] != nil }.subtracting(below)
        #expect(upwards.isEmpty, "\(module) imports \(upwards.sorted()), which come later")
        below.insert(module)
      }
    }
  }

  @Test func `no test reaches around its module`() throws {
    let inStoreys = try storeys.flatMap { storey in
      try subfolders(of: "Tests").contains(storey.name)
        ? subfolders(of: "Tests/\(storey.name)").map { "\(storey.name)/\($0)" } : []
    }
    let ofTheWhole = try subfolders(of: "Tests").filter { name in !storeys.contains { $0.name == name } }
    for folder in try (inStoreys + ofTheWhole).filter({ try !swiftFiles(in: "Tests/\($0)").isEmpty }) {
      let target = folder.split(separator: "/").last.map(String.init) ?? ""
      #expect(testFloors[target] != nil, "\(target): a test target that the table does not know")
      let allowed = allowedImports(ofTests: target) ?? []
      for file in try swiftFiles(in: "Tests/\(folder)") {
        let found = Set(importedModules(in: try text(of: file)))
        #expect(found.isSubset(of: allowed), "\(file) imports \(found.subtracting(allowed).sorted())")
      }
    }
  }

  /// The check that two accesses to a property do not overlap costs 95 instructions each time. Every test runs with it.
  @Test func `exclusive access goes unchecked for two properties alone, and in release builds alone`() throws {
    let attribute = "@exclusivity" + "(unchecked)"
    var properties: Set<String> = []
    for module in floors.keys {
      for file in try swiftFiles(of: module) {
        let lines = try text(of: file).split(separator: "\n").map { $0.drop { $0 == " " } }
        for (number, line) in lines.enumerated() where line.contains(attribute) {
          #expect(lines[number - 1] == "#if !DEBUG" && lines[number + 1] == "#endif", "\(file)")
          properties.insert(String(lines[number + 2]))
        }
      }
    }
    #expect(properties == ["var machine: ClientConnection", "var output = Output()"])
  }

  /// The other way to a C function, past every module map.
  @Test func `nobody declares a C function by its symbol`() throws {
    let attribute = "@_" + "silgen_name"
    for module in floors.keys {
      for file in try swiftFiles(of: module) {
        #expect(try !text(of: file).contains(attribute), "\(file)")
      }
    }
  }

  /// The compiler holds everybody else to it.
  @Test func `only the storey of secrets sees their bytes`() throws {
    for module in floors.keys {
      for file in try swiftFiles(of: module) where try text(of: file).contains("@_" + "spi(") {
        #expect(file.hasPrefix("Sources/Secrets/"), "\(file)")
      }
    }
  }

  /// Its wording may change: tests look for events and fields (`DaemonLog`). Whole text is for tests of the format alone.
  @Test func `no test reads the log as text`() throws {
    let readers = [
      "EndToEnd/NothingLeaksFromTheProcessTests.swift", "EndToEnd/WorkersChangeTogetherTests.swift",
      "Server/DaemonTests/WatchdogTests.swift", "Server/ProxyTests/LogLinesCannotBeForgedTests.swift",
      "Server/ServerSupport/Stage.swift",
    ].map { "Tests/\($0)" }
    for file in try swiftFiles(in: "Tests/EndToEnd") + swiftFiles(in: "Tests/Server") {
      let text = try text(of: file)
      let found = ["log.bytes", "log?.bytes", "log.description", "log)\"."].contains { text.contains($0) }
      #expect(found == readers.contains(file), "\(file)")
    }
  }

  @Test func `the table itself stands in order`() {
    for (module, imports) in floors {
      for other in imports { #expect(floors[other]?.contains(module) != true, "\(module) and \(other) in a circle") }
    }
    for module in pureModules {
      #expect(allowedImports(of: module)?.isSubset(of: pureModules) == true, "\(module) is not pure")
    }
    let cModules = Set(floors.values.joined()).filter { $0.hasPrefix("C") && floors[$0] == nil }
    for library in cModules {
      let importers = floors.filter { $0.value.contains(library) }.map(\.key).sorted()
      #expect(
        importers.count == 1 || importers == ["Crypto", "TLS", "TestServer"], "\(library) has importers \(importers)")
    }
    for (module, _) in floors {
      #expect(allowedImports(of: module)?.contains("Foundation") == false)
      #expect(allowedImports(of: module)?.contains("FoundationEssentials") == (module == "bearerctl"))
    }
  }

  @Test(arguments: [
    ("import A", ["A"]),
    ("internal import A\npackage import B", ["A", "B"]),
    ("@_exported import A", ["A"]),
    ("@preconcurrency @_spi(X) private import A", ["A"]),
    ("import struct A.B", ["A"]),
    ("import A.B.C", ["A"]),
    ("import A; import B", ["A", "B"]),
    ("  import\n  A", ["A"]),
    ("import `A`", ["A"]),
    ("#if canImport(B)\nimport A\n#endif", ["A"]),
    ("import/* for */A // import B", ["A"]),
    ("// import A", []),
    ("/* import A /* import B */ import C */", []),
    ("let text = \"import A\"", []),
    ("let text = \"\\\"import A\"\nimport B", ["B"]),
    ("let text = \"\"\"\n import \"A\n \"\"\"\nimport B", ["B"]),
    ("let important = imports.import_", []),
    ("", []),
  ])
  func `imports are found in every guise`(_ source: String, _ modules: [String]) {
    #expect(importedModules(in: source) == modules)
  }
}

// MARK: - The repository

private let root = repositoryRoot

private func subfolders(of folder: String) throws -> [String] {
  try entries(of: "\(root)/\(folder)").filter { isFolder("\(root)/\(folder)/\($0)") }
}

private func swiftFiles(of module: String) throws -> [String] {
  try swiftFiles(in: sourceFolder(of: module))
}

/// Paths relative to the repository, at any depth.
private func swiftFiles(in folder: String) throws -> [String] {
  try entries(of: "\(root)/\(folder)").flatMap { name in
    let path = "\(folder)/\(name)"
    if isFolder("\(root)/\(path)") { return try swiftFiles(in: path) }
    return name.hasSuffix(".swift") ? [path] : []
  }
}

private func isFolder(_ path: String) -> Bool {
  guard let directory = opendir(path) else { return false }
  closedir(directory)
  return true
}

private func entries(of path: String) throws -> [String] {
  let directory = try #require(opendir(path), "\(path)")
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if !name.hasPrefix(".") { names.append(name) }
  }
  return names.sorted()
}

private func text(of file: String) throws -> String {
  let handle = try #require(fopen("\(root)/\(file)", "r"), "\(file)")
  defer { fclose(handle) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65536)
  while case let count = fread(&buffer, 1, buffer.count, handle), count > 0 { bytes += buffer[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}
