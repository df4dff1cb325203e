/// Text from outside as it stands in a message: in quotes, cut after 80 characters, with escapes for characters that end a
/// line, move the cursor or turn the reading direction around. Never for what may be a secret.
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
  /// Shown as it is: neither moves the cursor nor changes the direction of what follows.
  package var isHarmless: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }
}
