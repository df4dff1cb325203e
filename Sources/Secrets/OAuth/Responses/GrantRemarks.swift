internal import JSON
internal import Settings

/// Remarks on unusual grants that bearerd accepts.
extension TokenResponseReader {
  /// Adds a remark if the granted scope differs from the requested scope (RFC 6749 section 5.1).
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

  /// Adds a remark if the server's clock differs from ours by at least a minute (T57).
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
