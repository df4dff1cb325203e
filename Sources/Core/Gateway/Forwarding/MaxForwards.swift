internal import HTTP1

/// The Max-Forwards field of OPTIONS (RFC 9110 §7.6.2).
enum MaxForwards {
  /// Returns how often the request may still be forwarded. `nil` if there is no limit. Throws if it is invalid.
  static func read(_ head: RequestHead) throws(Refusal) -> UInt64? {
    guard head.method == .options else { return nil }
    var found: UInt64?
    for field in head.fields where field.known == .maxForwards {
      guard found == nil, let number = number(head.bytes.span.extracting(field.value)) else {
        throw .malformed(.badMaxForwards)
      }
      found = number
    }
    return found
  }

  /// Greater values of the field are reduced to this number, which no chain of proxies reaches.
  private static let maximum: UInt64 = 1_000_000

  private static func number(_ digits: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for index in digits.indices {
      let digit = UInt64(digits[index] &- UInt8(ascii: "0"))
      guard digit < 10 else { return nil }
      number = min(number * 10 + digit, maximum)
    }
    return digits.isEmpty ? nil : number
  }
}
