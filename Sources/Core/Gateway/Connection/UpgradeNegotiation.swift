internal import HTTP1
internal import Policy
internal import Primitives

/// Which protocol a request asks for, and whether an answer switches to it (RFC 9110 §7.8). An Upgrade field is for one hop:
/// what goes out is written anew, and only what is asked for there can be granted.
enum UpgradeNegotiation {
  /// The first protocol of the list, which its sender likes best, that the service lets through. The others are left out;
  /// without one the request goes on as if it had not asked.
  static func request(_ head: RequestHead, options: ConnectionOptions, of upgrades: [UpgradeProtocol])
    -> UpgradeProtocol?
  {
    // §7.8: what an HTTP/1.0 client says is ignored, and so is a field that Connection does not name.
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

  /// Whether a 101 names the protocol that was asked for, and no other.
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

  /// The fields of both messages that say so.
  static func write(_ upgrade: UpgradeProtocol, to output: inout ByteBuffer) {
    output.append("Connection: upgrade\r\n")
    MessageWriter.field(name: "Upgrade", value: upgrade.text.utf8.span, to: &output)
  }
}
