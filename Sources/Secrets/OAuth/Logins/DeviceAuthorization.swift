internal import JSON
@_spi(SecretBytes) package import Secrets
internal import System

/// The codes that a person needs to log in on another device (RFC 8628 section 3.2), and that the daemon asks with meanwhile.
package struct DeviceAuthorization: ~Copyable {
  package var deviceCode: Secret
  /// Printable ASCII, at most 64 characters: to be shown.
  package let userCode: String
  /// https, visible ASCII, at most 2048 characters: to be shown.
  package let verificationURI: String
  package let verificationURIComplete: String?
  /// Milliseconds.
  package let lifetime: UInt64
  /// Milliseconds; nil: the server did not say.
  package let interval: UInt64?

  private static let longestLifetime = 86_400.0

  /// An answer to `.deviceAuthorization`.
  package static func read(
    _ head: AnswerHead, _ body: Span<UInt8>, of source: TokenSource, now: Int64, in arena: SecretArena
  ) throws(TokenRefusal) -> DeviceAuthorization {
    let reader = AnswerReader(head: head, source: source, purpose: .deviceAuthorization, now: now)
    return try reader.read(body) { (document) throws(TokenRefusal) in
      let userCode = document.withText("user_code") { shown($0, 1...64, from: 0x20) } ?? nil
      // The name in the draft and at some servers still
      let uri =
        (document.withText("verification_uri") { url($0) } ?? nil) ?? document.withText("verification_url") { url($0) }
        ?? nil
      guard let userCode, let uri else {
        throw reader.malformed("without a user_code or verification_uri that can be shown")
      }
      guard let lifetime = document.number("expires_in"), lifetime >= 1 else {
        throw reader.malformed("without an expires_in")
      }
      let code: Secret?
      do throws(SystemError) {
        code =
          try document.withText("device_code") { (text) throws(SystemError) -> Secret? in
            guard !text.isEmpty, text.count <= TokenGrant.longestToken else { return nil }
            var code = try Secret(capacity: text.count, in: arena)
            try code.append(text)
            return code
          } ?? nil
      } catch {
        throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the device code: \(error)")
      }
      guard let code else { throw reader.malformed("without a device_code") }
      return DeviceAuthorization(
        deviceCode: code, userCode: userCode, verificationURI: uri,
        verificationURIComplete: document.withText("verification_uri_complete") { url($0) } ?? nil,
        lifetime: milliseconds(lifetime), interval: document.number("interval").map { milliseconds(max(0, $0)) })
    }
  }

  private static func milliseconds(_ seconds: Double) -> UInt64 { UInt64(min(seconds, longestLifetime) * 1000) }

  /// nil: it would do something to a terminal, or is no text of this kind.
  private static func shown(_ text: UnsafeRawBufferPointer, _ count: ClosedRange<Int>, from first: UInt8) -> String? {
    guard count.contains(text.count), text.allSatisfy({ $0 >= first && $0 < 0x7F }) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  private static func url(_ text: UnsafeRawBufferPointer) -> String? {
    guard let url = shown(text, 9...2048, from: 0x21), url.hasPrefix("https://") else { return nil }
    return url
  }
}
