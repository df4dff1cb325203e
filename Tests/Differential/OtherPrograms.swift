import Foundation
import TestSupport
import Testing

/// The programs that read what we read. `make differential` says where they are.
enum OtherPrograms {
  static let python = ProcessInfo.processInfo.environment["DIFFERENTIAL_PYTHON"]
  /// The Python that has hyper-h2.
  static let h2 = ProcessInfo.processInfo.environment["DIFFERENTIAL_H2"]
  static let node = ProcessInfo.processInfo.environment["DIFFERENTIAL_NODE"]
  static let go = ProcessInfo.processInfo.environment["DIFFERENTIAL_GO"]
  /// The Python that starts an nginx and asks it.
  static let nginx = ProcessInfo.processInfo.environment["DIFFERENTIAL_NGINX"]

  /// What a script of this folder says of each line.
  static func answers<Answer: Decodable>(_ program: String?, _ script: String, _ lines: [String]) throws -> [Answer] {
    let scratch = try Scratch()
    let input = try scratch.write("lines", lines.map { $0 + "\n" }.joined())
    let folder = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    let result = try run([try #require(program), "\(folder)/\(script)", input])
    #expect(result.status == 0, "\(result.errors)")
    let answers = result.output.split(separator: "\n")
    try #require(answers.count == lines.count)
    return try answers.map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
  }
}

func randomText(_ random: inout SeededGenerator, _ pieces: [String], upTo count: Int) -> String {
  (0..<Int.random(in: 0...count, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
}

func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

func text(_ bytes: some Sequence<UInt8>) -> String {
  String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
