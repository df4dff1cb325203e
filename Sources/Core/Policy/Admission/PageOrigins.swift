package import HTTP1

/// The origins of the web pages that may send requests to a listener.
package struct PageOrigins: Sendable, Equatable {
  package let origins: [PageOrigin]
  private let texts: [[UInt8]]

  package init(_ origins: [PageOrigin]) {
    self.origins = origins
    texts = origins.map { Array($0.description.utf8) }
  }

  package var isEmpty: Bool { texts.isEmpty }

  /// Returns the listed origin that equals `value` byte for byte; `nil` if there is none.
  func listed(_ value: Span<UInt8>) -> [UInt8]? {
    for text in texts where equals(text, value) { return text }
    return nil
  }

  /// Returns the listed origin of the page that sent this request; `nil` if the page is not listed.
  package func page(of head: RequestHead) -> [UInt8]? {
    var page: [UInt8]?
    for field in head.fields where field.known == .origin {
      guard page == nil, let listed = listed(head.bytes.span.extracting(field.value)) else { return nil }
      page = listed
    }
    return page
  }

  /// Returns a configuration line that allows these origins and `origin`.
  package func line(adding origin: PageOrigin) -> String {
    let names = (origins.filter { $0 != origin } + [origin]).map { origin in
      // Quote IPv6 addresses, because an unquoted bracket begins a list in YAML.
      origin.description.utf8.contains(UInt8(ascii: "[")) ? "\"\(origin)\"" : origin.description
    }
    return "browsers: { origins: [\(names.joined(separator: ", "))] }"
  }

  /// Returns the origin of the page that sent this request; `nil` if no message should suggest to allow it (T35).
  package static func origin(of head: RequestHead) -> PageOrigin? {
    guard let field = head.fields.first(where: { $0.known == .origin }), field.value.count <= PageOrigin.longest else {
      return nil
    }
    let text = String(decoding: head.bytes[field.value], as: UTF8.self)
    // Another spelling would never match the field byte for byte.
    guard let origin = try? PageOrigin(parsing: text), origin.web != nil || origin.description == text else {
      return nil
    }
    // A page that a browser loaded through bearerd must not send requests (T35).
    if let web = origin.web, let host = head.host, head.bytes[host].elementsEqual(web.authority.utf8) { return nil }
    return origin
  }

  private func equals(_ text: [UInt8], _ value: Span<UInt8>) -> Bool {
    guard text.count == value.count else { return false }
    for index in text.indices where text[index] != value[index] { return false }
    return true
  }
}
