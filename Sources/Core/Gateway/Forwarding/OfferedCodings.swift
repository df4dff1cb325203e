internal import HTTP1
internal import Primitives

/// Limits Accept-Encoding to codings that bearerd can decode, if responses are searched for secrets (T64).
enum OfferedCodings {
  /// The client's list, unchanged.
  case all
  /// The client's list, without the codings that bearerd cannot decode to search the response for secrets.
  case searchable
  /// Only `identity`, because bearerd cannot decode any coding in the client's list.
  case none

  init(_ head: RequestHead) {
    let bytes = head.bytes.span
    var (isShorter, hasAcceptable) = (false, false)
    for field in head.fields where OfferedCodings.concerns(field, of: bytes) {
      var elements = ListElements(field.value)
      while let element = elements.next(in: bytes) {
        if NamedCoding.isExcluded(element, in: bytes) { continue }
        if NamedCoding.isSearchable(element, in: bytes) { hasAcceptable = true } else { isShorter = true }
      }
    }
    self = !isShorter ? .all : hasAcceptable ? .searchable : .none
  }

  /// Whether a server could read the field as Accept-Encoding, for example a field named `Accept_Encoding`.
  static func concerns(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    field.name.count == 15 && FieldName.resembles(field.name, of: bytes, "accept-encoding")
  }

  /// Appends the field, without the codings that bearerd cannot decode.
  static func writeSearchable(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    var isFirst = true
    var elements = ListElements(field.value)
    while let element = elements.next(in: bytes) {
      guard NamedCoding.isSearchable(element, in: bytes) || NamedCoding.isExcluded(element, in: bytes) else { continue }
      if isFirst { output.append(bytes.extracting(field.name)) }
      output.append(isFirst ? ": " : ", ")
      output.append(bytes.extracting(element))
      isFirst = false
    }
    if !isFirst { output.append("\r\n") }
  }
}
