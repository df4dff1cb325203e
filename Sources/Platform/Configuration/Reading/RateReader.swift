internal import Policy
import Primitives

/// Reads `rate`: how many requests one caller may send.
struct RateReader: SectionReader {
  let context: ReadingContext

  /// Reads a rate like `60/m`, or `none`.
  func rate(_ node: YAMLNode) -> RuleRate? {
    let wanted = "a rate like 10/s, 60/m, 1000/h or 5000/d, or none"
    guard let text = text(node, wanted) else { return nil }
    if text == "none" { return RuleRate.none }
    let (digits, unit) = split(text)
    let number = decimal(digits)
    if let number, unit.first == "/", let period = Rate.Period(rawValue: String(unit.dropFirst())) {
      if (1...Self.maxRequests).contains(number) {
        return .own(Rate(requests: UInt32(clamping: number), per: period))
      }
      return report.error(
        node.location, "the rate \(quoted(text)) is out of range: expected 1 to \(Self.maxRequests) requests",
        help: number == 0 ? "to refuse every request, write a rule with deny: true" : nil)
    }
    return report.error(
      node.location, "\(quoted(text)) is not valid: expected \(wanted)",
      help: likely(number, unit).map { "did you mean \($0)?" }
        ?? (meansOff(text) ? "for no limit, write none" : "write it like 60/m"))
  }

  private static let maxRequests = 1_000_000

  /// Returns the rate that an invalid text like `60/min` probably means.
  private func likely(_ number: Int?, _ unit: String) -> Rate? {
    guard let number, (1...Self.maxRequests).contains(number), !unit.utf8.contains(where: ASCII.isDigit) else {
      return nil
    }
    let word = unit.split { !($0.isASCII && $0.isLetter) }.last.map { ASCII.lowercased(String($0)) } ?? ""
    let period = Rate.Period.allCases.first { word.hasPrefix($0.rawValue) }
    return Rate(requests: UInt32(clamping: number), per: period ?? .minute)
  }
}
