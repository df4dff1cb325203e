internal import HTTP1
internal import Primitives

/// The form parameters in a request body, which OAuth 1.0 signs (RFC 5849 section 3.4.1.3.1).
struct SignedForm {
  /// The form; empty if there is no body or it is not a form.
  let bytes: UnsafeRawBufferPointer

  private static let type = Array("application/x-www-form-urlencoded".utf8)

  /// Finds the form in a request; `nil` if `body` contains only a part of the form.
  /// - Parameter body: the body in the form that `encoder` sends.
  init?(_ request: borrowing OutgoingRequest, body: UnsafeRawBufferPointer, for encoder: some HeadEncoder) {
    guard SignedForm.isForm(request.fields.storage.span.extracting(first: request.fields.count)) else {
      bytes = UnsafeRawBufferPointer(rebasing: body[..<0])
      return
    }
    guard let content = encoder.content(of: request, in: body) else { return nil }
    bytes = content
  }

  /// Whether the first Content-Type field says that the body is a form.
  private static func isForm(_ fields: Span<UInt8>) -> Bool {
    var pairs = FieldPairs()
    while let pair = pairs.next(in: fields) {
      guard FieldName.matches(pair.name, of: fields, "content-type") else { continue }
      let end = pair.value.lowerBound + type.count
      guard end <= pair.value.upperBound else { return false }
      for (index, byte) in type.enumerated() where fields[pair.value.lowerBound + index] | 0x20 != byte | 0x20 {
        return false
      }
      // Parameters such as charset may follow.
      return end == pair.value.upperBound || [0x3B, 0x20, 0x09].contains(fields[end])
    }
    return false
  }
}
