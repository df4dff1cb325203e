internal import HTTP1
internal import Policy
internal import Primitives

/// The codings that an upstream is offered while the bodies of errors are searched: those of the client that can be searched
/// (T64). Other codings would cost the client the error's text.
enum OfferedCodings {
  /// The client's own list.
  case all
  /// The client's list without the codings that cannot be searched.
  case searchable
  /// The client accepts no coding that can be searched.
  case none

  init(_ head: RequestHead) {
    let bytes = head.bytes.span
    var (isShorter, hasAcceptable) = (false, false)
    for field in head.fields where OfferedCodings.concerns(field, of: bytes) {
      var elements = ListElements(field.value)
      while let element = elements.next(in: bytes) {
        let isExcluded = NamedCoding.isExcluded(element, in: bytes)
        if isExcluded { continue }
        if NamedCoding.isSearchable(element, in: bytes) { hasAcceptable = true } else { isShorter = true }
      }
    }
    self = !isShorter ? .all : hasAcceptable ? .searchable : .none
  }

  /// Whether a server could take the field for Accept-Encoding.
  static func concerns(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    field.name.count == 15 && FieldName.resembles(field.name, of: bytes, "accept-encoding")
  }

  /// Appends the field without the codings that cannot be searched; nothing if no coding is left.
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
