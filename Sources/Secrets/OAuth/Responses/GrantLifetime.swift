internal import JSON
internal import Primitives
internal import Settings

/// The lifetime of a granted token.
extension TokenResponseReader {
  /// Returns the lifetime in milliseconds. `nil` if it is unknown, 0 if it is invalid or over.
  func lifetime(_ places: TokenPlaces, _ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64? {
    if let path = places.expiresAt, !document.isBlank(at: path) { return remainder(at: path, document, &remarks) }
    return lifetime(at: places.expiresIn ?? places.sibling("expires_in"), document, &remarks)
  }

  /// Returns a lifetime in seconds as milliseconds. `nil` if it is unknown, 0 if it is invalid.
  func lifetime(at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64? {
    if document.isBlank(at: path) { return nil }
    guard let seconds = document.seconds(at: path), seconds >= 1 else {
      // With 0, the access token is not used, but the refresh token is kept.
      remarks.append("an expires_in that is not a positive number of seconds (bearerd does not use the token)")
      return 0
    }
    return TokenGrant.milliseconds(seconds)
  }

  /// Returns the milliseconds until the time at this path, by the server's clock. 0 if it is invalid or over.
  private func remainder(at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64 {
    let rest = document.time(at: path).map { $0 - Double(head.serverTime(now: now)) }
    guard let rest, rest >= 1 else {
      remarks.append("an expires_at that is not a time in the future (bearerd does not use the token)")
      return 0
    }
    return TokenGrant.milliseconds(rest)
  }
}

extension JSONDocument {
  /// Whether there is no value: the member is absent, `null`, or a string without visible characters.
  func isBlank(at path: [String]) -> Bool {
    switch kind(at: path) {
    case .absent, .null: true
    case .string: withText(at: path) { TokenGrant.trimmed($0).isEmpty } ?? true
    case .boolean, .number, .array, .object: false
    }
  }

  /// Returns a number, or a string with a number.
  func seconds(at path: [String]) -> Double? {
    number(at: path) ?? withText(at: path) { TokenGrant.number($0) } ?? nil
  }

  /// Returns a time in seconds since 1970: an RFC 3339 time, or a number of seconds or milliseconds.
  fileprivate func time(at path: [String]) -> Double? {
    // As seconds, this number would be after the year 5000.
    if let number = seconds(at: path) { return number < 1e11 ? number : number / 1_000 }
    let time = withText(at: path) { text -> Int64? in
      let text = TokenGrant.trimmed(text)
      // Shorter texts have no time of day.
      guard (20...64).contains(text.count), text.allSatisfy({ $0 < 0x80 }) else { return nil }
      return CivilTime.seconds(parsing: String(decoding: text, as: UTF8.self))
    }
    return (time ?? nil).map { Double($0) }
  }
}
