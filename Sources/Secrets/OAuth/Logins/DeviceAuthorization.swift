internal import JSON
@_spi(SecretBytes) package import Secrets
package import Settings
internal import System

/// The response to a device authorization request (RFC 8628 section 3.2): codes for the person and for the polls.
package struct DeviceAuthorization: ~Copyable {
  package var deviceCode: Secret
  /// The code that the person enters. At most 64 characters of printable ASCII.
  package let userCode: String
  /// The https URL that the person opens. At most 2048 characters of visible ASCII.
  package let verificationURI: String
  package let verificationURIComplete: String?
  /// Milliseconds until the codes expire.
  package let lifetime: UInt64
  /// The server's interval between polls, in milliseconds. `nil` if the server sent none.
  package let interval: UInt64?

  private static let longestLifetime = 86_400.0

  package static func read(
    _ head: TokenResponseHead, _ body: Span<UInt8>, of source: TokenSource, now: Int64, in arena: SecretArena
  ) throws(TokenRefusal) -> DeviceAuthorization {
    let reader = TokenResponseReader(
      head: head, source: source, purpose: .deviceAuthorization, now: now, arena: arena)
    return try reader.read(body) { (document) throws(TokenRefusal) in
      let userCode = document.withText("user_code") { checked($0, 1...64, from: 0x20) } ?? nil
      // Some servers still use the draft's name, `verification_url`.
      let uri =
        (document.withText("verification_uri") { url($0) } ?? nil) ?? document.withText("verification_url") { url($0) }
        ?? nil
      guard let userCode, let uri else {
        throw reader.malformed("without a user_code or verification_uri that can be shown")
      }
      guard let lifetime = document.seconds(at: ["expires_in"]), lifetime >= 1 else {
        throw reader.malformed("without an expires_in")
      }
      let code: Secret?
      do throws(SystemError) {
        code =
          try document.withText("device_code") { (text) throws(SystemError) -> Secret? in
            guard !text.isEmpty, text.count <= TokenGrant.longestToken else { return nil }
            return try Secret.copy(of: text, in: arena)
          } ?? nil
      } catch {
        throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the device code: \(error)")
      }
      guard let code else { throw reader.malformed("without a device_code") }
      return DeviceAuthorization(
        deviceCode: code, userCode: userCode, verificationURI: uri,
        verificationURIComplete: document.withText("verification_uri_complete") { url($0) } ?? nil,
        lifetime: milliseconds(lifetime), interval: document.seconds(at: ["interval"]).map { milliseconds(max(0, $0)) })
    }
  }

  private static func milliseconds(_ seconds: Double) -> UInt64 { UInt64(min(seconds, longestLifetime) * 1000) }

  /// Returns the text. `nil` if its length is not in `count`, or if a byte is not in `first..<0x7F`.
  private static func checked(_ text: UnsafeRawBufferPointer, _ count: ClosedRange<Int>, from first: UInt8) -> String? {
    guard count.contains(text.count), text.allSatisfy({ $0 >= first && $0 < 0x7F }) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  private static func url(_ text: UnsafeRawBufferPointer) -> String? {
    guard let url = checked(text, 9...2048, from: 0x21), url.hasPrefix("https://") else { return nil }
    return url
  }
}
