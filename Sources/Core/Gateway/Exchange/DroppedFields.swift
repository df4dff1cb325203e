internal import HTTP1

/// Response fields that were removed or shortened for the client, for the log.
package struct DroppedFields: OptionSet, Sendable {
  package let rawValue: UInt16
  @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }

  @inlinable package var isEmpty: Bool { rawValue == 0 }

  /// A cookie that the service does not pass, that is the credential, or that the client could not store.
  static let setCookie = DroppedFields(rawValue: 1)
  static let location = DroppedFields(rawValue: 1 << 1)
  static let contentLocation = DroppedFields(rawValue: 1 << 2)
  static let link = DroppedFields(rawValue: 1 << 3)
  static let refresh = DroppedFields(rawValue: 1 << 4)
  /// A field other than Location, Content-Location, Link and Refresh, whose URLs are too many or too long to check.
  static let urlField = DroppedFields(rawValue: 1 << 5)
  static let originHeader = DroppedFields(rawValue: 1 << 6)
  static let proxyStatus = DroppedFields(rawValue: 1 << 7)
  static let illegalName = DroppedFields(rawValue: 1 << 8)
  static let trailer = DroppedFields(rawValue: 1 << 9)
  /// A whole interim response, because it has a URL of one of bearerd's listeners.
  static let interim = DroppedFields(rawValue: 1 << 10)
  /// A challenge that prompts for a password, in a response that does not reject the added credential.
  static let challenge = DroppedFields(rawValue: 1 << 12)
  /// A field that describes the original bytes of a body that was decoded or replaced.
  static let aboutBody = DroppedFields(rawValue: 1 << 11)

  init(_ field: KnownField) {
    self =
      switch field {
      case .location: .location
      case .contentLocation: .contentLocation
      case .link: .link
      case .refresh: .refresh
      default: .urlField
      }
  }

  private static let names: [(DroppedFields, String)] = [
    (.setCookie, "set-cookie"), (.location, "location"), (.contentLocation, "content-location"), (.link, "link"),
    (.refresh, "refresh"), (.urlField, "url-field"), (.originHeader, "origin-header"), (.proxyStatus, "proxy-status"),
    (.illegalName, "illegal-name"), (.trailer, "trailer"), (.interim, "interim"), (.aboutBody, "about-body"),
    (.challenge, "challenge"),
  ]

  /// The names of the entries for the log, separated by commas.
  package var description: String {
    DroppedFields.names.filter { contains($0.0) }.map(\.1).joined(separator: ",")
  }
}
