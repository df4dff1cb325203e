internal import HTTP1
package import Policy

/// Takes out of an answer what was added to its request (T33). Who holds the secret makes one; what it looks for is not
/// known here. What it masks keeps its length.
package protocol Redaction: AnyObject {
  /// Places that were masked in this answer.
  var count: UInt64 { get }
  /// The cost of the search in all: one step for each byte that had to be looked at alone, and some for each piece.
  var steps: Int { get }
  /// Masks what stands in a text that is whole. Returns false if it could not be searched.
  func redact(_ text: inout [UInt8]) -> Bool
  /// Takes the next piece of a stream: `changed` gets what goes on first and is not as it came, and the range of the piece
  /// that is returned follows as it is. What comes behind that is held back. nil: it could not be searched.
  func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>?
  /// Lets go what was kept for the sake of what might follow: nothing follows, or not soon.
  func release(to changed: inout [UInt8])
  /// The pieces of this answer's body are coded so: from now on they are decoded, and go on decoded. False: they cannot be.
  func decode(_ coding: ContentCoding) -> Bool
  var isDecoding: Bool { get }
  /// Whether a coded body ended where its coding says; true of one that is not coded.
  var isWhole: Bool { get }
}

extension Exchange {
  /// The parts of the answer that are searched for what was added to the request: none if nothing was.
  @inline(__always) package var redact: Service.Redact {
    guard grant != nil, let route, let snapshot else { return .off }
    return snapshot.rules.services[route.service].redact
  }

  /// The answer's head, whose parts are known already. False: it may not go on.
  mutating func redactHead(_ redaction: (any Redaction)?) -> Bool {
    if case .off = redact { return true }
    guard let redaction else { return false }
    let isSearched =
      passage.hasJarCookies ? withoutJarCookies { redaction.redact(&$0) } : redaction.redact(&response.bytes)
    record.redactions = redaction.count
    return isSearched
  }

  /// Lends the head's bytes without the cookies that are kept in a jar: they go there as they came, and to no client.
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

  /// Masks in the trailers what was added to the request.
  mutating func redactTrailers(_ redaction: (any Redaction)?) -> Bool {
    if redact == .off { return true }
    guard let redaction, reading.body.overwriteTrailers({ redaction.redact(&$0) }) else { return false }
    record.redactions = redaction.count
    return true
  }

  /// A piece of a body, or of what follows an upgrade. nil, or why it may not go on.
  mutating func pass(
    _ input: Span<UInt8>, _ range: Range<Int>, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    switch passage.treatment {
    case .asItIs:
      record.bytesDown &+= UInt64(range.count)
      sendDown(input, range, output: &output)
    case .searched, .decoded:
      output.changed.removeAll(keepingCapacity: true)
      guard let redaction, let rest = redaction.redact(input.extracting(range), changed: &output.changed) else {
        return passage.treatment == .decoded ? .plain(.encodedAnswer) : .plain(.internalError)
      }
      record.redactions = redaction.count
      record.bytesDown &+= UInt64(passage.treatment == .decoded ? output.changed.count : range.count)
      sendDown(input, (range.lowerBound + rest.lowerBound)..<(range.lowerBound + rest.upperBound), output: &output)
    case .withheld: withhold(range.count)
    }
    return nil
  }

  /// Nothing follows what is held back, or not soon.
  /// - Parameter input: that `output` points into.
  mutating func releaseHeld(_ input: Span<UInt8>, _ redaction: (any Redaction)?, output: inout Output) {
    guard passage.treatment == .searched || passage.treatment == .decoded, let redaction else { return }
    output.changed.removeAll(keepingCapacity: true)
    redaction.release(to: &output.changed)
    record.redactions = redaction.count
    if passage.treatment == .decoded { record.bytesDown &+= UInt64(output.changed.count) }
    sendDown(input, 0..<0, output: &output)
  }

  /// Whether an upgrade has extensions that were not offered: one could compress what follows, which could not be searched
  /// then.
  var hasExtensionsAgainstOurWish: Bool {
    guard redact == .all else { return false }
    let span = response.bytes.span
    return response.fields.contains { FieldName.matches($0.name, of: span, "sec-websocket-extensions") }
  }
}
