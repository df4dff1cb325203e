internal import HTTP1
package import Policy

/// Masks the added credential in a response (T33), without changing the length.
package protocol Redaction: AnyObject {
  /// Number of occurrences that were masked in this response.
  var count: UInt64 { get }
  /// Cost of the search so far, in steps. A byte that must be inspected individually costs one step.
  var steps: Int { get }
  /// Masks occurrences in a complete text. Returns `false` if the text could not be searched.
  func redact(_ text: inout [UInt8]) -> Bool
  /// Searches the next bytes of a body. Send `changed` first, then the returned range of `piece`. The other bytes are
  /// buffered. Returns `nil` if `piece` could not be searched.
  func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>?
  /// Moves the buffered bytes to `changed`. Call this if no more bytes follow soon.
  func release(to changed: inout [UInt8])
  /// Makes `redact` decode this body before it searches. Returns `false` if `coding` cannot be decoded.
  func decode(_ coding: ContentCoding) -> Bool
  /// Whether a compressed body has been decoded to its end. `true` if the body is not compressed.
  var isWhole: Bool { get }
}

extension Exchange {
  /// The parts of the response to search for the added credential. `.off` if none was added.
  @inline(__always) package var redact: ServiceOptions.Redact {
    mutating get {
      guard grant != nil, let route, let snapshot else { return .off }
      return snapshot.options(of: route).redact
    }
  }

  /// Masks the credential in the response head. Returns `false` if the head must not be forwarded.
  mutating func redactHead(_ redaction: (any Redaction)?) -> Bool {
    if case .off = redact { return true }
    guard let redaction else { return false }
    let isSearched =
      passage.hasJarCookies ? withoutJarCookies { redaction.redact(&$0) } : redaction.redact(&response.bytes)
    record.redactions = redaction.count
    return isSearched
  }

  /// Calls `body` with the response head while the values of all Set-Cookie fields are blank.
  private mutating func withoutJarCookies(_ body: (inout [UInt8]) -> Bool) -> Bool {
    let values = response.fields.filter { $0.known == .setCookie }.map(\.value)
    var kept: [UInt8] = []
    for value in values {
      kept.append(contentsOf: response.bytes[value])
      for index in value { response.bytes[index] = UInt8(ascii: " ") }
    }
    let result = body(&response.bytes)
    var next = 0
    for value in values {
      for index in value {
        response.bytes[index] = kept[next]
        kept[next] = 0
        next += 1
      }
    }
    return result
  }

  mutating func redact(_ trailers: inout Trailers, _ redaction: (any Redaction)?) -> Bool {
    if redact == .off { return true }
    guard let redaction, redaction.redact(&trailers.bytes) else { return false }
    record.redactions = redaction.count
    return true
  }

  /// Sets `output.changed` and `output.results.unchanged` to what the client gets of a part of a body or of upgraded data.
  /// Returns `nil`, or a refusal if this part must not be forwarded.
  mutating func pass(
    _ input: Span<UInt8>, _ range: Range<Int>, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    switch passage.treatment {
    case .asItIs:
      record.bytesDown &+= UInt64(range.count)
      output.results.unchanged = range
    case .searched, .decoded:
      output.changed.removeAll(keepingCapacity: true)
      guard let redaction, let rest = redaction.redact(input.extracting(range), changed: &output.changed) else {
        return passage.treatment == .decoded ? .plain(.encodedAnswer) : .plain(.internalError)
      }
      record.redactions = redaction.count
      record.bytesDown &+= UInt64(passage.treatment == .decoded ? output.changed.count : range.count)
      output.results.unchanged = (range.lowerBound + rest.lowerBound)..<(range.lowerBound + rest.upperBound)
    case .replaced:
      output.results.unchanged = 0..<0
      passage.discardedBytes &+= range.count
    }
    return nil
  }

  /// Sets `output.changed` to the bytes that are buffered because they could begin a secret.
  mutating func releaseBuffered(_ redaction: (any Redaction)?, output: inout Output) {
    output.results.unchanged = 0..<0
    guard passage.treatment == .searched || passage.treatment == .decoded, let redaction else { return }
    output.changed.removeAll(keepingCapacity: true)
    redaction.release(to: &output.changed)
    record.redactions = redaction.count
    if passage.treatment == .decoded { record.bytesDown &+= UInt64(output.changed.count) }
  }

  /// Whether a 101 response has WebSocket extensions that bearerd did not offer.
  var hasUnofferedExtensions: Bool {
    mutating get {
      guard redact == .all else { return false }
      let span = response.bytes.span
      return response.fields.contains { FieldName.matches($0.name, of: span, "sec-websocket-extensions") }
    }
  }
}
