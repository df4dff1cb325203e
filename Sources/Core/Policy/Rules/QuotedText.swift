/// Quotes untrusted text for a message: cuts it after 80 characters, and escapes control characters. Not for text that
/// may be a secret.
package func quoted(_ text: some StringProtocol) -> String {
  let most = 80
  var shown = "\""
  for scalar in text.unicodeScalars.prefix(most) {
    if scalar.isHarmless {
      shown.unicodeScalars.append(scalar)
    } else {
      shown += "\\u{\(String(scalar.value, radix: 16))}"
    }
  }
  return shown + (text.unicodeScalars.dropFirst(most).isEmpty ? "\"" : "…\"")
}

extension Unicode.Scalar {
  /// Whether a message can show the character unescaped.
  package var isHarmless: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }
}
