internal import HTTP1

/// The response fields that a client did not get, or got in part, for the log. Fields that end at this hop (RFC 9110 section 7.6.1)
/// are not among them, and neither are the challenges that reject our own credential.
package struct DroppedFields: OptionSet, Sendable {
  package let rawValue: UInt16
  @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Inlined, because every response is asked.
  @inlinable package var isEmpty: Bool { rawValue == 0 }

  /// A cookie: the service does not pass cookies, the cookie is the credential, or the local side could not keep the cookie.
  static let setCookie = DroppedFields(rawValue: 1)
  static let location = DroppedFields(rawValue: 1 << 1)
  static let contentLocation = DroppedFields(rawValue: 1 << 2)
  static let link = DroppedFields(rawValue: 1 << 3)
  static let refresh = DroppedFields(rawValue: 1 << 4)
  /// Another field of `PlaceFields`.
  static let placeField = DroppedFields(rawValue: 1 << 5)
  /// A field of `OriginHeaders`.
  static let originHeader = DroppedFields(rawValue: 1 << 6)
  static let proxyStatus = DroppedFields(rawValue: 1 << 7)
  /// A field whose name no field can have.
  static let illegalName = DroppedFields(rawValue: 1 << 8)
  /// A field of the trailers.
  static let trailer = DroppedFields(rawValue: 1 << 9)
  /// An interim response that named one of our listeners.
  static let interim = DroppedFields(rawValue: 1 << 10)
  /// A challenge that makes programs ask a person for a password, in a response that does not reject our credential.
  static let challenge = DroppedFields(rawValue: 1 << 12)
  /// A field about the bytes of a body that was decoded or withheld.
  static let aboutBody = DroppedFields(rawValue: 1 << 11)

  /// - Parameter field: one of the fields that `ReferenceRewriting` writes.
  init(_ field: KnownField) {
    self =
      switch field {
      case .location: .location
      case .contentLocation: .contentLocation
      case .link: .link
      case .refresh: .refresh
      default: .placeField
      }
  }

  private static let names: [(DroppedFields, String)] = [
    (.setCookie, "set-cookie"), (.location, "location"), (.contentLocation, "content-location"), (.link, "link"),
    (.refresh, "refresh"), (.placeField, "url-field"), (.originHeader, "origin-header"), (.proxyStatus, "proxy-status"),
    (.illegalName, "illegal-name"), (.trailer, "trailer"), (.interim, "interim"), (.aboutBody, "about-body"),
    (.challenge, "challenge"),
  ]

  /// The names with commas between them.
  package var description: String {
    DroppedFields.names.filter { contains($0.0) }.map(\.1).joined(separator: ",")
  }
}
