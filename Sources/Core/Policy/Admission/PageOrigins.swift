package import HTTP1

/// The web pages that may ask at a listener, by their origins.
package struct PageOrigins: Sendable, Equatable {
  package let origins: [PageOrigin]
  /// The origins as browsers write them in `Origin`.
  private let texts: [[UInt8]]

  package init(_ origins: [PageOrigin]) {
    self.origins = origins
    texts = origins.map { Array($0.description.utf8) }
  }

  package var isEmpty: Bool { texts.isEmpty }

  /// The listed origin that `value` is, byte for byte; nil: none. `null` is the origin of every page that has none of its own
  /// (RFC 6454 §7.3), and never listed.
  func listed(_ value: Span<UInt8>) -> [UInt8]? {
    for text in texts where equals(text, value) { return text }
    return nil
  }

  /// The listed origin of the page that sent this request, for answers of ours to it; nil: it is none of these.
  package func page(of head: RequestHead) -> [UInt8]? {
    var page: [UInt8]?
    for field in head.fields where field.known == .origin {
      guard page == nil, let listed = listed(head.bytes.span.extracting(field.value)) else { return nil }
      page = listed
    }
    return page
  }

  /// The line of a configuration that lets pages of one origin more ask.
  package func line(adding origin: PageOrigin) -> String {
    let names = (origins.filter { $0 != origin } + [origin]).map { origin in
      // To YAML the bracket of an address would begin a list.
      origin.description.utf8.contains(UInt8(ascii: "[")) ? "\"\(origin)\"" : origin.description
    }
    return "browsers: { origins: [\(names.joined(separator: ", "))] }"
  }

  /// The origin of the page that sent this request, if it is one that could be listed.
  package static func origin(of head: RequestHead) -> PageOrigin? {
    guard let field = head.fields.first(where: { $0.known == .origin }), field.value.count <= PageOrigin.longest else {
      return nil
    }
    let text = String(decoding: head.bytes[field.value], as: UTF8.self)
    // Only what browsers write can be compared with what they write.
    guard let origin = try? PageOrigin(parsing: text), origin.web != nil || origin.description == text else {
      return nil
    }
    // A page of our own: what the browser shows of us may not ask (T35).
    if let web = origin.web, let host = head.host, head.bytes[host].elementsEqual(web.authority.utf8) { return nil }
    return origin
  }

  private func equals(_ text: [UInt8], _ value: Span<UInt8>) -> Bool {
    guard text.count == value.count else { return false }
    for index in text.indices where text[index] != value[index] { return false }
    return true
  }
}
