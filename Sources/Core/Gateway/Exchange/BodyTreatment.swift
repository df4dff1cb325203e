internal import HTTP1
internal import Policy

/// A content coding that can be decoded (RFC 9110 section 8.4.1).
package enum ContentCoding: Sendable { case gzip, deflate }

/// Whether and how bearerd searches a response body for the credential, before the client gets the body (T33, T64).
enum BodyTreatment: Sendable, Equatable {
  case asItIs, searched
  /// A compressed body that is decoded, searched and forwarded without compression.
  case decoded
  /// The body cannot be searched. The client gets an error text instead.
  case replaced
}

extension Exchange {
  /// Maximum number of bytes of a replaced body to read and discard.
  static let maximumDiscarded = 65_536

  /// Sets the treatment of the response body. Returns `false` if the whole response must be refused.
  mutating func chooseTreatment(_ length: BodyLength, _ redaction: (any Redaction)?) -> Bool {
    passage.treatment = .asItIs
    switch redact {
    case .off, .headers: return true
    case .errors:
      if response.status >= 400, length != .none, length != .length(0) { passage.treatment = errorTreatment(redaction) }
    case .all:
      passage.treatment = .searched
      if length != .none, !codings(unknownCount: true).isEmpty { return false }
    }
    return true
  }

  private mutating func errorTreatment(_ redaction: (any Redaction)?) -> BodyTreatment {
    let codings = codings(unknownCount: false)
    guard let only = codings.first else { return .searched }
    let isDecoded = codings.count == 1 && only.map { redaction?.decode($0) ?? false } ?? false
    forget(isDecoded ? { $0.describesCoding } : { $0.describesBody })
    return isDecoded ? .decoded : .replaced
  }

  /// Returns the codings of the response body. An element is `nil` if bearerd cannot decode the coding.
  /// - Parameter unknownCount: whether an unknown word gives `nil`. Otherwise the word is ignored.
  private mutating func codings(unknownCount: Bool) -> [ContentCoding?] {
    let span = response.bytes.span
    var codings: [ContentCoding?] = []
    for field in response.fields {
      let isManipulation = response.status == 226 && FieldName.matches(field.name, of: span, "im")
      // The coding of each message in a body of gRPC.
      let isOfMessages = unknownCount && FieldName.matches(field.name, of: span, "grpc-encoding")
      guard isManipulation || isOfMessages || FieldName.matches(field.name, of: span, "content-encoding") else {
        continue
      }
      var elements = ListElements(field.value)
      while let element = elements.next(in: span) {
        switch NamedCoding(element, in: span) {
        case .identity: break
        case .decodable(let coding): codings.append(coding)
        case .undecodable: codings.append(nil)
        case .unknown: if unknownCount || isManipulation { codings.append(nil) }
        }
      }
    }
    return codings
  }

  /// Removes the response fields for which `isWrong` is `true`, because they do not describe the forwarded body.
  private mutating func forget(_ isWrong: (AboutBody) -> Bool) {
    let bytes = response.bytes
    response.fields.removeAll { isWrong(AboutBody($0, of: bytes.span)) }
  }
}

struct AboutBody {
  /// Whether the field describes the bytes that the upstream sent, for example their coding, digest or range.
  let describesCoding: Bool
  let describesBody: Bool

  init(_ field: Field, of bytes: Span<UInt8>) {
    let name = field.name
    var saysCoded = false
    for other in [
      "content-encoding", "content-md5", "content-digest", "repr-digest", "digest", "etag", "content-range",
      "accept-ranges",
    ] where FieldName.matches(name, of: bytes, other) { saysCoded = true }
    self.describesCoding = saysCoded
    describesBody =
      saysCoded || FieldName.matches(name, of: bytes, "last-modified")
      || FieldName.resembles(name, of: bytes, prefix: "content-")
  }
}
