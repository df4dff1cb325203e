internal import HTTP1
internal import Policy

/// Negotiation of a protocol switch with the Upgrade field (RFC 9110 §7.8).
enum UpgradeNegotiation {
  /// Returns the first protocol in the request's list that the service allows. `nil` if there is none.
  static func request(_ head: RequestHead, options: ConnectionOptions, of upgrades: [UpgradeProtocol])
    -> UpgradeProtocol?
  {
    // §7.8: ignore Upgrade from an HTTP/1.0 client, and a field that Connection does not name.
    guard !options.nominated.isEmpty, head.version == .http11 else { return nil }
    let span = head.bytes.span
    for field in head.fields where field.known == .upgrade {
      guard options.names(field.name, of: head.bytes, nominatedIn: head.bytes) else { return nil }
      var elements = ListElements(field.value)
      while let element = elements.next(in: span) {
        for upgrade in upgrades where upgrade.isNamed(by: span.extracting(element)) { return upgrade }
      }
    }
    return nil
  }

  /// Whether a 101 response names the requested protocol and no other.
  static func isGranted(_ asked: UpgradeProtocol, by head: ResponseHead, options: ConnectionOptions) -> Bool {
    guard head.version == .http11 else { return false }
    var isGranted = false
    for field in head.fields where field.known == .upgrade {
      guard options.names(field.name, of: head.bytes, nominatedIn: head.bytes) else { return false }
      var elements = ListElements(field.value)
      while let element = elements.next(in: head.bytes.span) {
        guard !isGranted, asked.isNamed(by: head.bytes.span.extracting(element)) else { return false }
        isGranted = true
      }
    }
    return isGranted
  }
}
