import TestServer
import Foundation
import TestSupport
import Testing

/// A stage whose credential needs an interactive login.
extension TokenStage {
  package static let deviceCode = "DEVICE-0123456789-code"
  package static let userCode = "WDJB-MJHT"
  package static let code = "CODE-0123456789-code"

  package var device: String {
    "grant: device_code, device_authorization_url: \(address)/oauth2/device, store: canary.login"
  }

  package func browser(_ more: String = "") -> String {
    "grant: authorization_code, authorization_url: \(address)/oauth2/authorize, store: canary.login\(more)"
  }

  private var address: String { "https://localhost:\(tokens.server.port)" }

  /// Returns a response to a device authorization request.
  package static func deviceResponse(_ code: String = deviceCode, expiresIn: Int = 600, interval: Int = 1)
    -> TokenServer.Response
  {
    .raw(
      TokenServer.json(
        200,
        """
        {"device_code":"\(code)","user_code":"\(userCode)","verification_uri":"https://login.example/device",\
        "verification_uri_complete":"https://login.example/device?c=1","expires_in":\(expiresIn),"interval":\(interval)}
        """))
  }

  package static let pending = TokenServer.Response.error(400, "authorization_pending")

  /// The tokens that the server grants to a login.
  package var granted: TokenServer.Response { .token(stage.canary, expiresIn: 3600, refresh: refresh) }
  package var refresh: String { "REFRESH-of-\(first.suffix(12))" }

  package var stored: String { (try? String(contentsOfFile: store, encoding: .utf8)) ?? "" }

  /// Requests the redirect address, as a browser would.
  /// - Parameter host: The Host field, or `nil` for the host of the redirect URI.
  package func visit(
    _ query: [String: String], _ target: String, method: String = "GET", host: String? = nil
  ) throws -> LocalClient.Response {
    let client = try callback(query)
    try client.send("\(method) \(target) HTTP/1.1\r\nHost: \(try host ?? authority(query))\r\n\r\n")
    return try client.response()
  }

  package func authority(_ query: [String: String]) throws -> String {
    let url = try #require(URLComponents(string: query["redirect_uri"] ?? ""))
    return "\(try #require(url.host)):\(try #require(url.port))"
  }

  package func callback(_ query: [String: String]) throws -> LocalClient {
    let url = try #require(URLComponents(string: query["redirect_uri"] ?? ""))
    let port = try #require(url.port.map { UInt16($0) })
    return try LocalClient(port: port, family: url.host == "127.0.0.1" ? AF_INET : AF_INET6)
  }
}
