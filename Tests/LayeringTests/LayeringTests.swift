import Glibc
import TestSupport
import Testing

/// The dependencies of targets are not enough: an incremental build accepts undeclared imports.
@Suite struct LayeringTests {
  @Test func `each module depends exactly on the modules in the table`() throws {
    #expect(Set(layers.flatMap(\.modules)) == Set(moduleImports.keys), "a module without a row, or the other way round")
    for (module, listed) in moduleImports {
      let allowed = allowedImports(of: module) ?? []
      var all: Set<String> = []
      for file in try swiftFiles(of: module) {
        let found = Set(importedModules(in: try text(of: file)))
        #expect(found.isSubset(of: allowed), "\(file) imports \(found.subtracting(allowed).sorted())")
        all.formUnion(found)
      }
      #expect(listed.isSubset(of: all), "\(module) imports none of \(listed.subtracting(all).sorted())")
    }
  }

  @Test func `the folders match the layers, and no module imports a later module`() throws {
    #expect(try entries(of: "\(repositoryRoot)/Sources").sorted() == layers.map(\.name).sorted())
    var below: Set<String> = []
    for (name, modules) in layers {
      let libraries = try subfolders(of: "Sources/\(name)").filter {
        try swiftFiles(in: "Sources/\(name)/\($0)").isEmpty
      }
      let found = Set(try subfolders(of: "Sources/\(name)")).subtracting(libraries)
      #expect(found == Set(modules), "Sources/\(name)")
      for module in modules {
        let upwards = (moduleImports[module] ?? []).filter { moduleImports[$0] != nil }.subtracting(below)
        #expect(upwards.isEmpty, "\(module) imports \(upwards.sorted()), which come later")
        below.insert(module)
      }
    }
  }

  @Test func `tests depend only on the modules in the table`() throws {
    let inLayers = try layers.flatMap { layer in
      try subfolders(of: "Tests").contains(layer.name)
        ? subfolders(of: "Tests/\(layer.name)").map { "\(layer.name)/\($0)" } : []
    }
    let others = try subfolders(of: "Tests").filter { name in !layers.contains { $0.name == name } }
    for folder in try (inLayers + others).filter({ try !swiftFiles(in: "Tests/\($0)").isEmpty }) {
      let target = folder.split(separator: "/").last.map(String.init) ?? ""
      #expect(testImports[target] != nil, "\(target): a test target that the table does not know")
      let allowed = allowedImports(ofTests: target) ?? []
      for file in try swiftFiles(in: "Tests/\(folder)") {
        let found = Set(importedModules(in: try text(of: file)))
        #expect(found.isSubset(of: allowed), "\(file) imports \(found.subtracting(allowed).sorted())")
      }
    }
  }

  /// An exchange knows messages. Only the edges know the bytes of an HTTP version.
  @Test func `in Gateway, only the edges read and write HTTP/1`() throws {
    for file in try swiftFiles(of: "Gateway") where !file.contains("/Edges/") {
      let text = try text(of: file)
      for type in ["HeadReader", "BodyReader", "MessageWriter", "\"HTTP/1.1 "] {
        #expect(!text.contains(type), "\(file) has \(type)")
      }
    }
  }

  @Test func `each file of the tour says in its first lines who calls it and whom it calls`() throws {
    let rows = try text(of: "docs/develop/tour.md").matches(of: /\| [0-9]+ \| \[[^\]]+\]\(\.\.\/\.\.\/(Sources[^)]+)\)/)
    #expect(rows.count == 15)
    for row in rows {
      let lines = try text(of: String(row.1)).split(separator: "\n").prefix(2)
      #expect(
        lines.first?.hasPrefix("// Called by `") == true && lines.last?.hasPrefix("// Calls ") == true, "\(row.1)")
    }
  }

  /// Debug builds, and therefore all tests, check that accesses are exclusive.
  @Test func `exclusivity checks are off only by the option in Package.swift, and only in release builds`() throws {
    for module in moduleImports.keys {
      for file in try swiftFiles(of: module) {
        #expect(try !text(of: file).contains("@exclusivity" + "("), "\(file)")
      }
    }
    let manifest = try text(of: "Package.swift")
    let option = "-enforce-exclusivity=unchecked"
    #expect(manifest.split(separator: "\n").filter { $0.contains(option) }.allSatisfy { $0.contains(".release") })
    #expect(manifest.contains(option))
  }

  /// `@_silgen_name` would reach a C function without its module map.
  @Test func `no source file declares a C function by its symbol`() throws {
    let attribute = "@_" + "silgen_name"
    for module in moduleImports.keys {
      for file in try swiftFiles(of: module) {
        #expect(try !text(of: file).contains(attribute), "\(file)")
      }
    }
  }

  /// The compiler enforces the rest: without `@_spi` the bytes of secrets are not visible.
  @Test func `only the Secrets layer can read the bytes of secrets`() throws {
    for module in moduleImports.keys {
      for file in try swiftFiles(of: module) where try text(of: file).contains("@_" + "spi(") {
        #expect(file.hasPrefix("Sources/Secrets/"), "\(file)")
      }
    }
  }

  /// The wording of the log may change. Tests check events and fields (`DaemonLog`), only tests of the format read
  /// text.
  @Test func `no test reads the log as text`() throws {
    let readers = [
      "EndToEnd/NothingLeaksFromTheProcessTests.swift", "EndToEnd/LogsOfWorkersAreWholeTests.swift",
      "Server/DaemonTests/WatchdogTests.swift", "Server/ProxyTests/LogLinesCannotBeForgedTests.swift",
      "Server/ServerSupport/Stage.swift",
    ].map { "Tests/\($0)" }
    for file in try swiftFiles(in: "Tests/EndToEnd") + swiftFiles(in: "Tests/Server") {
      let text = try text(of: file)
      let found = ["log.bytes", "log?.bytes", "log.description", "log)\"."].contains { text.contains($0) }
      #expect(found == readers.contains(file), "\(file)")
    }
  }

  @Test func `the table has no cycles, and each C library has one importing module`() {
    for (module, imports) in moduleImports {
      for other in imports {
        #expect(moduleImports[other]?.contains(module) != true, "\(module) and \(other) in a circle")
      }
    }
    for module in pureModules {
      #expect(allowedImports(of: module)?.isSubset(of: pureModules) == true, "\(module) is not pure")
    }
    let cModules = Set(moduleImports.values.joined()).filter { $0.hasPrefix("C") && moduleImports[$0] == nil }
    for library in cModules {
      let importers = moduleImports.filter { $0.value.contains(library) }.map(\.key).sorted()
      #expect(
        importers.count == 1 || importers == ["Crypto", "TLS", "TestServer"], "\(library) has importers \(importers)")
    }
    for (module, _) in moduleImports {
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
  func `imports are found in every spelling`(_ source: String, _ modules: [String]) {
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
