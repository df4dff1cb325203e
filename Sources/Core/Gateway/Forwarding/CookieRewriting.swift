internal import HTTP1
internal import Policy
internal import Primitives

/// `cookies: pass`: a Set-Cookie as a local client can keep it. Domain goes (the cookie is this host's), Path moves to where
/// the service stands, Secure and what clients take only with it goes (the local side is plain HTTP). Without a Path the
/// client's own default is right: it is the directory of the request, here as there.
enum CookieRewriting {
  static func write(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, to output: inout ByteBuffer
  ) {
    let plan = context.snapshot.plans[context.route.service]
    output.append(contentsOf: bytes[field.name])
    output.append(": ")
    var isFirst = true
    var start = field.value.lowerBound
    while start <= field.value.upperBound {
      let part = bytes[start..<field.value.upperBound].prefix { $0 != UInt8(ascii: ";") }
      start = part.endIndex + 1
      let attribute = trimmed(part)
      if isFirst {
        output.append(contentsOf: attribute)
        isFirst = false
        continue
      }
      // Nothing is said by it.
      if attribute.isEmpty { continue }
      let equals = attribute.firstIndex(of: UInt8(ascii: "="))
      let name = attribute.startIndex..<(equals ?? attribute.endIndex)
      if FieldName.matches(name, of: bytes.span, "domain") || needsSecure(attribute, name, of: bytes) { continue }
      if FieldName.matches(name, of: bytes.span, "path"), let equals {
        output.append("; Path=")
        output.append(contentsOf: localPath(attribute[(equals + 1)...], plan))
        continue
      }
      output.append("; ")
      output.append(contentsOf: attribute)
    }
    output.append("\r\n")
  }

  private static func needsSecure(_ attribute: ArraySlice<UInt8>, _ name: Range<Int>, of bytes: [UInt8]) -> Bool {
    if FieldName.matches(name, of: bytes.span, "secure") || FieldName.matches(name, of: bytes.span, "partitioned") {
      return true
    }
    guard FieldName.matches(name, of: bytes.span, "samesite") else { return false }
    return FieldName.matches(min(name.upperBound + 1, attribute.endIndex)..<attribute.endIndex, of: bytes.span, "none")
  }

  /// A path at or below the base moves with it; any other (`/` above all) becomes the whole service.
  private static func localPath(_ path: ArraySlice<UInt8>, _ plan: ForwardingPlan) -> [UInt8] {
    guard path.starts(with: plan.basePath) else { return plan.localBase }
    return plan.localBase + path.dropFirst(plan.basePath.count)
  }

  private static func trimmed(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var part = part
    while let byte = part.first, byte == 0x20 || byte == 0x09 { part = part.dropFirst() }
    while let byte = part.last, byte == 0x20 || byte == 0x09 { part = part.dropLast() }
    return part
  }
}
