internal import Glibc

/// A small authorization server with one account, for the demo (RFC 8628). Each refresh token is valid once.
package final class AuthorizationServer: Sendable {
  package struct Grant: Sendable {
    /// The grant type: `device_code` or `refresh_token`.
    package let kind: String
    package let token: String
  }

  package let userCode: String
  private let lifetime: Int
  private let state = Monitor(State())

  private struct State {
    var polls = 0
    var deviceCode = ""
    var refreshToken = ""
    var grants: [Grant] = []
    /// When the newest access token expires, in milliseconds of the monotonic clock.
    var expiry = 0
  }

  /// - Parameter lifetime: Lifetime of an access token, in seconds.
  package init(lifetime: Int) {
    self.lifetime = lifetime
    let letters = "BCDFGHJKLMNPQRSTVWXZ"
    userCode = "\(randomText(4, of: letters))-\(randomText(4, of: letters))"
  }

  package var grants: [Grant] { state.withLock(\.grants) }

  /// Whether the token is the newest access token and has not expired.
  package func isValid(_ token: String) -> Bool {
    state.withLock { $0.grants.last?.token == token && Self.now < $0.expiry }
  }

  /// Returns the response to `POST /device` or `POST /token`, and 404 for other requests.
  package func response(to request: UpstreamRequest, origin: String) -> [UInt8] {
    let line = String(decoding: request.head, as: UTF8.self).prefix { $0 != "\r\n" }
    let form = Self.form(request.body)
    return state.withLock { state in
      if line.hasPrefix("POST /device ") {
        (state.polls, state.deviceCode) = (0, randomText(32))
        return Self.json(
          200,
          """
          {"device_code":"\(state.deviceCode)","user_code":"\(userCode)","verification_uri":"\(origin)/enter",\
          "expires_in":300,"interval":1}
          """)
      }
      guard line.hasPrefix("POST /token ") else { return Self.json(404, "{}") }
      switch form["grant_type"] {
      case "urn:ietf:params:oauth:grant-type:device_code":
        guard form["device_code"] == state.deviceCode else { return Self.error("expired_token") }
        state.polls += 1
        return state.polls < 2 ? Self.error("authorization_pending") : grant("device_code", &state)
      case "refresh_token":
        guard form["refresh_token"] == state.refreshToken else { return Self.error("invalid_grant") }
        return grant("refresh_token", &state)
      default: return Self.error("unsupported_grant_type")
      }
    }
  }

  private func grant(_ kind: String, _ state: inout State) -> [UInt8] {
    let token = "token-\(state.grants.count + 1)-\(randomText(8))"
    (state.refreshToken, state.deviceCode) = (randomText(32), "")
    state.grants.append(Grant(kind: kind, token: token))
    state.expiry = Self.now + lifetime * 1000
    return Self.json(
      200,
      """
      {"access_token":"\(token)","token_type":"Bearer","expires_in":\(lifetime),"refresh_token":"\(state.refreshToken)"}
      """)
  }

  private static func error(_ code: String) -> [UInt8] { json(400, "{\"error\":\"\(code)\"}") }

  private static func json(_ status: Int, _ body: String) -> [UInt8] {
    Array(
      """
      HTTP/1.1 \(status) \(status == 200 ? "OK" : "Bad Request")\r
      Content-Type: application/json\r
      Cache-Control: no-store\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
  }

  /// Parses a form, but decodes no escapes except `%3A`.
  private static func form(_ body: [UInt8]) -> [String: String] {
    var form: [String: String] = [:]
    for field in String(decoding: body, as: UTF8.self).split(separator: "&") {
      let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { form[String(parts[0])] = String(parts[1].replacing("%3A", with: ":")) }
    }
    return form
  }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
  }
}

package func randomText(_ count: Int, of letters: String = "abcdefghjkmnpqrstuvwxyz23456789") -> String {
  String((0..<count).compactMap { _ in letters.randomElement() })
}
