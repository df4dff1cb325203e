internal import HTTP1
internal import Policy

/// A coding of a body that can be decoded (RFC 9110 section 8.4.1).
package enum ContentCoding: Sendable { case gzip, deflate }

/// The treatment of an answer's body on its way to the client (T33, T64).
enum BodyTreatment: Sendable, Equatable {
  case asItIs, searched
  /// A body that came compressed goes on as it was before that, searched.
  case decoded
  /// A body that cannot be searched does not go on: an answer in its place says so.
  case withheld
}

extension Exchange {
  /// Bytes that are taken of a body that is withheld, so that the session can serve the next request; one that is longer
  /// costs a new session.
  static let mostWithheld = 65_536

  /// - Returns: false: the whole answer is refused.
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
    forget(isDecoded ? { $0.saysCoded } : { $0.saysBody })
    return isDecoded ? .decoded : .withheld
  }

  /// The codings that the body really has; `nil` stands for one that cannot be decoded. Servers write character sets and
  /// other words into Content-Encoding: a word that names no coding changes no byte. In a 226 the instance manipulations
  /// count too, whatever their names, because they compress or send differences (RFC 3229 section 10.5.2).
  /// - Parameter unknownCount: `true` if such a word counts as a coding that cannot be decoded.
  private mutating func codings(unknownCount: Bool) -> [ContentCoding?] {
    let span = response.bytes.span
    var codings: [ContentCoding?] = []
    for field in response.fields {
      let isManipulation = response.status == 226 && FieldName.matches(field.name, of: span, "im")
      guard isManipulation || FieldName.matches(field.name, of: span, "content-encoding") else { continue }
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

  /// The fields that would be wrong of the body that goes on.
  private mutating func forget(_ isWrong: (AboutBody) -> Bool) {
    let bytes = response.bytes
    response.fields.removeAll { isWrong(AboutBody($0, of: bytes.span)) }
  }

  /// A piece of a body that is withheld.
  mutating func withhold(_ count: Int) {
    passage.withheldBytes &+= count
    guard passage.withheldBytes > Self.mostWithheld else { return }
    session.received = .surplus
    reading.body.begin(.none)
  }
}

/// The part of a body that a field describes.
struct AboutBody {
  /// Whether it describes the coded bytes: how they are coded, what their digests are, which of them these are.
  let saysCoded: Bool
  /// Whether it describes what the body is at all.
  let saysBody: Bool

  init(_ field: Field, of bytes: Span<UInt8>) {
    let name = field.name
    var saysCoded = false
    for other in [
      "content-encoding", "content-md5", "content-digest", "repr-digest", "digest", "etag", "content-range",
      "accept-ranges",
    ] where FieldName.matches(name, of: bytes, other) { saysCoded = true }
    self.saysCoded = saysCoded
    saysBody =
      saysCoded || FieldName.matches(name, of: bytes, "last-modified")
      || FieldName.resembles(name, of: bytes, prefix: "content-")
  }
}
