internal import Policy
import Primitives

extension Preset.Question {
  package func accepts(_ answer: String) -> Bool {
    guard !answer.isEmpty, answer.utf8.count <= 253 else { return false }
    let bytes = answer.utf8
    switch pattern {
    case .hostLabel: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x2D }
    case .word: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || "_.-".utf8.contains($0) }
    case .header: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || "!#$%&'*+.^_`|~-".utf8.contains($0) }
    case .host: return (try? HostName(parsing: answer)) != nil
    case .origin: return answer.hasPrefix("https://") && (try? Origin(parsing: answer)) != nil
    case .email: return answer.contains("@") && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
    case .user: return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
    }
  }

  /// The expected answer, as the end of a sentence.
  package var expectation: String {
    switch pattern {
    case .hostLabel: "letters, digits and \"-\", such as \(example)"
    case .word: "letters, digits, \"_\", \".\" and \"-\", such as \(example)"
    case .header: "the name of a header field, such as \(example)"
    case .host: "a host name, such as \(example)"
    case .origin: "an https URL without a path, such as \(example)"
    case .email: "an e-mail address, such as \(example)"
    case .user: "a name without a colon, such as \(example)"
    }
  }
}
