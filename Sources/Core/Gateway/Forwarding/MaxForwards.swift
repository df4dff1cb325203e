internal import HTTP1

/// How often an OPTIONS may still be passed on (RFC 9110 §7.6.2). The field means something for TRACE, too, which is refused;
/// with other methods it goes on as it came.
enum MaxForwards {
  /// nil: as often as it takes. A field that cannot be read, or more than one, is refused: the client that wrote it wants the
  /// request to end somewhere, and no server could say where.
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

  /// More than anybody means.
  private static let greatest: UInt64 = 1_000_000

  /// The greatest that we know, of one that is greater.
  private static func number(_ digits: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for index in digits.indices {
      let digit = UInt64(digits[index] &- UInt8(ascii: "0"))
      guard digit < 10 else { return nil }
      number = min(number * 10 + digit, greatest)
    }
    return digits.isEmpty ? nil : number
  }
}
