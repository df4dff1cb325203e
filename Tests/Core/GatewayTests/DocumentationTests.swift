import Foundation
import TestSupport
import Testing

/// What the documents say about the code is what the code says.
@Suite struct DocumentationTests {
  private static let root = repositoryRoot

  static func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
  }

  /// Every document: paths from the top of the repository.
  static let documents: [String] = {
    let pages = FileManager.default.enumerator(atPath: "\(root)/docs")?.compactMap { $0 as? String } ?? []
    return ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
      + pages.filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }.sorted()
  }()

  @Test func `the pages below docs are found`() {
    #expect(Self.documents.count > 30)
  }

  /// `ProgramVersion.swift` is where a release begins.
  @Test(arguments: ["README.md", "CHANGELOG.md"])
  func `the version is the program's`(document: String) throws {
    let source = try Self.text("Sources/Platform/System/ProgramVersion.swift")
    let version = try #require(source.firstMatch(of: /text = "([0-9.]+)"/)?.1)
    #expect(try Self.text(document).contains(version))
  }

  /// Folders and files that a document names.
  @Test(arguments: documents)
  func whatIsNamedExists(document: String) throws {
    for match in try Self.text(document).matches(of: /`((?:Sources|Tests|config|systemd|docs)\/[A-Za-z0-9_+\/.-]+)`/) {
      #expect(FileManager.default.fileExists(atPath: "\(Self.root)/\(match.1)"), "\(match.1)")
    }
  }

  /// "`Sources/X`: … `File.swift`": a file named alone stands somewhere below the folder that was named last.
  @Test(arguments: ["docs/develop/source.md", "CONTRIBUTING.md"])
  func filesAreInTheFolderThatIsNamedBefore(document: String) throws {
    var folder: Substring?
    var found = 0
    for match in try Self.text(document).matches(of: /Sources\/([A-Za-z0-9\/]+)|`([A-Za-z0-9+]+\.swift)`/) {
      if let name = match.1 {
        folder = name
      } else if let file = match.2, file != "Package.swift" {
        let folder = "\(Self.root)/Sources/\(folder ?? "")"
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        #expect(files.contains { $0 == file || $0.hasSuffix("/\(file)") }, "\(folder): \(file)")
        found += 1
      }
    }
    #expect(found > 0)
  }

  /// Links to files, from where the document stands, and to sections of this document or of another one.
  @Test(arguments: documents)
  func whatIsLinkedExists(document: String) throws {
    let text = try Self.text(document)
    let folder = document.split(separator: "/").dropLast().joined(separator: "/")
    for match in text.matches(of: /\]\(([^)#:]*)(?:#([^)]+))?\)/) {
      let target = match.1.isEmpty ? document : "\(folder)/\(match.1)"
      #expect(FileManager.default.fileExists(atPath: "\(Self.root)/\(target)"), "\(target)")
      if let anchor = match.2 {
        #expect(try Self.anchors(Self.text(target)).contains(String(anchor)), "\(target)#\(anchor)")
      }
    }
  }

  /// What the titles of a document are linked as.
  private static func anchors(_ text: String) -> [String] {
    text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
      line.drop { $0 == "#" }.dropFirst().lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == " " }
        .map { $0 == " " ? "-" : String($0) }.joined()
    }
  }

  /// The first page that a stranger reads stays one that can be read.
  @Test func `the README has at most 300 lines`() throws {
    #expect(try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 300)
  }
}
