internal import HTTP1

/// Response fields that would let one upstream affect all services of `http://localhost` in browsers (T2, T35).
enum OriginHeaders {
  static func isStripped(_ bytes: [UInt8], _ name: Range<Int>) -> Bool {
    guard name.count >= 3 else { return false }
    let span = bytes.span
    // The first letter rules out nearly every field.
    switch span[name.lowerBound] | 0x20 {
    case UInt8(ascii: "a"):
      return FieldName.resembles(name, of: span, prefix: "access-control-")
        || FieldName.resembles(name, of: span, "alt-svc")
        || FieldName.resembles(name, of: span, "alternate-protocol")
        || FieldName.resembles(name, of: span, "accept-ch")
        || FieldName.resembles(name, of: span, "accept-ch-lifetime")
    case UInt8(ascii: "c"):
      return FieldName.resembles(name, of: span, "clear-site-data")
        || FieldName.resembles(name, of: span, "critical-ch")
        || FieldName.resembles(name, of: span, "cache-group-invalidation")
    case UInt8(ascii: "e"): return FieldName.resembles(name, of: span, "expect-ct")
    case UInt8(ascii: "i"): return FieldName.resembles(name, of: span, "idp-signin-status")
    case UInt8(ascii: "n"): return FieldName.resembles(name, of: span, "nel")
    case UInt8(ascii: "o"): return FieldName.resembles(name, of: span, "origin-agent-cluster")
    case UInt8(ascii: "p"): return FieldName.resembles(name, of: span, prefix: "public-key-pins")
    case UInt8(ascii: "r"):
      return FieldName.resembles(name, of: span, "report-to")
        || FieldName.resembles(name, of: span, "reporting-endpoints")
    case UInt8(ascii: "s"):
      return FieldName.resembles(name, of: span, "strict-transport-security")
        || FieldName.resembles(name, of: span, "service-worker-allowed")
        || FieldName.resembles(name, of: span, "set-cookie")
        || FieldName.resembles(name, of: span, "set-cookie2")
        || FieldName.resembles(name, of: span, "set-login")
        || FieldName.resembles(name, of: span, "shared-storage-write")
        || FieldName.resembles(name, of: span, "speculation-rules")
        || FieldName.resembles(name, of: span, prefix: "sec-session-")
        || FieldName.resembles(name, of: span, prefix: "secure-session-")
    case UInt8(ascii: "u"): return FieldName.resembles(name, of: span, "use-as-dictionary")
    default: return false
    }
  }
}
