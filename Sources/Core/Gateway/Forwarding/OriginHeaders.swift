internal import HTTP1

/// Fields of an answer that would let one upstream speak for `http://localhost` as a whole (T2, T35).
enum OriginHeaders {
  static func isStripped(_ bytes: [UInt8], _ name: Range<Int>) -> Bool {
    guard name.count >= 3 else { return false }
    let span = bytes.span
    // Nearly every field is told apart by its first letter.
    switch span[name.lowerBound] | 0x20 {
    case UInt8(ascii: "a"):
      return FieldName.resembles(name, of: span, prefix: "access-control-")
        || FieldName.resembles(name, of: span, "alt-svc")
    case UInt8(ascii: "c"): return FieldName.resembles(name, of: span, "clear-site-data")
    case UInt8(ascii: "n"): return FieldName.resembles(name, of: span, "nel")
    case UInt8(ascii: "p"): return FieldName.resembles(name, of: span, prefix: "public-key-pins")
    case UInt8(ascii: "r"):
      return FieldName.resembles(name, of: span, "report-to")
        || FieldName.resembles(name, of: span, "reporting-endpoints")
    case UInt8(ascii: "s"):
      return FieldName.resembles(name, of: span, "strict-transport-security")
        || FieldName.resembles(name, of: span, "service-worker-allowed")
        || FieldName.resembles(name, of: span, "set-cookie")
        || FieldName.resembles(name, of: span, "set-cookie2")
    default: return false
    }
  }
}
