internal import HTTP1
internal import Primitives

/// The form parameters in a request body, which OAuth 1.0 signs (RFC 5849 section 3.4.1.3.1).
struct SignedForm {
  /// The form; empty if there is no body or it is not a form.
  let bytes: UnsafeRawBufferPointer

  private static let type = Array("application/x-www-form-urlencoded".utf8)

  /// Finds the form in a request; `nil` if `body` contains only a part of the form.
  /// - Parameter body: the body as sent with HTTP/1.1, in at most one chunk.
  init?(_ request: borrowing OutgoingRequest, body: UnsafeRawBufferPointer) {
    let nothing = UnsafeRawBufferPointer(rebasing: body[..<0])
    guard SignedForm.isForm(request.fields.storage.span.extracting(first: request.fields.count)) else {
      bytes = nothing
      return
    }
    switch request.bodyLength {
    case .none, .untilClose: bytes = nothing
    case .length(let count):
      guard count == UInt64(body.count) else { return nil }
      bytes = body
    case .chunked:
      guard let chunk = Self.onlyChunk(of: body) else { return nil }
      bytes = chunk
    }
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

  /// Returns the data of a chunked body that has at most one chunk; `nil` for other bodies.
  private static func onlyChunk(of body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let end = Array("0\r\n\r\n".utf8)
    if body.elementsEqual(end) { return UnsafeRawBufferPointer(rebasing: body[..<0]) }
    guard let lineEnd = body.firstIndex(of: 0x0D),
      let size = Int(String(decoding: body[..<lineEnd], as: UTF8.self), radix: 16), size > 0,
      size <= body.count, lineEnd + 2 + size + 2 + end.count == body.count,
      body[(body.count - end.count)...].elementsEqual(end)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: body[(lineEnd + 2)..<(lineEnd + 2 + size)])
  }
}
