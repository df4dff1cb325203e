internal import JSON
internal import Secrets

/// Remarks on what is odd about a grant that is good all the same. None of the server's own words.
extension AnswerReader {
  /// Remarks on a grant of another scope than what was asked for (RFC 6749 section 5.1). Without a scope in the answer it is
  /// the same; where none was asked for, the server's choice.
  func remarkScope(_ document: borrowing JSONDocument, _ remarks: inout [String]) {
    guard !source.scope.isEmpty, document.kind("scope") == .string else { return }
    var isMore = false
    var missing = source.scope
    document.withText("scope") { text in
      for granted in text.split(separator: 0x20) {
        isMore = isMore || !source.scope.contains { $0.utf8.elementsEqual(granted) }
        missing.removeAll { $0.utf8.elementsEqual(granted) }
      }
    }
    if !missing.isEmpty { remarks.append("less than the requested scope (without \(missing.joined(separator: " ")))") }
    if isMore { remarks.append("more than the requested scope") }
  }

  /// Ends of tokens are counted from here, so that this does no harm; but one of the clocks judges certificates wrongly (T57).
  func remarkClock(_ remarks: inout [String]) {
    guard let lead = head.clockLead(now: now) else { return }
    let most: String
    switch lead.magnitude {
    case ..<60: return
    case ..<3_600: most = "a minute"
    case ..<86_400: most = "an hour"
    default: most = "a day"
    }
    remarks.append("a date that is more than \(most) \(lead > 0 ? "ahead of" : "behind") the clock of this machine")
  }
}
