import Foundation
import Gateway
import Testing

/// What the documents say about the code is what the code says.
@Suite struct DocumentationTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

  static func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
  }

  /// `### pin-mismatch`, and `**502**, `error=tls_certificate_error`: title.` below it.
  @Test func thePageOfErrorsIsTheCodes() throws {
    let section = /### ([a-z0-9-]+)\n\n\*\*(\d{3})\*\*, `error=([a-z_]+)`: (.+)\.\n/
    let written = try Self.text("docs/errors.md").matches(of: section).map { "\($0.2) \($0.1) \($0.3) \($0.4)" }
    let meant = RefusalCode.allCases.map(\.row).map { "\($0.status) \($0.code) \($0.proxyError) \($0.title)" }
    #expect(written.sorted() == meant.sorted())
  }

  /// Folders, files and links to them.
  @Test(arguments: ["README.md", "SECURITY.md", "CONTRIBUTING.md"])
  func whatIsNamedExists(document: String) throws {
    let text = try Self.text(document)
    let paths =
      text.matches(of: /`((?:Sources|Tests|config|systemd)\/[A-Za-z0-9_+\/.-]+)`/).map { String($0.1) }
      + text.matches(of: /\]\(([A-Za-z0-9_][^):#]*)\)/).map { String($0.1) }
    #expect(paths.count > 2)
    for path in Set(paths) {
      #expect(FileManager.default.fileExists(atPath: "\(Self.root)/\(path)"), "\(path)")
    }
  }

  /// "`Sources/X`: … `File.swift`": a file named alone belongs to the folder that was named last.
  @Test(arguments: ["README.md", "CONTRIBUTING.md"])
  func filesAreInTheFolderThatIsNamedBefore(document: String) throws {
    var folder: Substring?
    var found = 0
    for match in try Self.text(document).matches(of: /Sources\/([A-Za-z0-9]+)|`([A-Za-z0-9+]+\.swift)`/) {
      if let name = match.1 {
        folder = name
      } else if let file = match.2, file != "Package.swift" {
        let path = "\(Self.root)/Sources/\(folder ?? "")/\(file)"
        #expect(FileManager.default.fileExists(atPath: path), "\(path)")
        found += 1
      }
    }
    #expect(found > 0)
  }

  /// Links within a document.
  @Test(arguments: ["README.md", "SECURITY.md", "CONTRIBUTING.md"])
  func sectionsThatAreLinkedExist(document: String) throws {
    let text = try Self.text(document)
    let anchors = text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
      line.drop { $0 == "#" }.dropFirst().lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == " " }
        .map { $0 == " " ? "-" : String($0) }.joined()
    }
    for match in text.matches(of: /\]\(#([^)]+)\)/) {
      #expect(anchors.contains(String(match.1)), "#\(match.1)")
    }
  }
}
