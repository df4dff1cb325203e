import Credentials
import Secrets
import OAuth
import Testing

/// Device logins (RFC 8628) with simulated time.
@Suite struct DevicePollingTests {
  @Test func `polls are five seconds apart, unless the server sets another interval`() {
    #expect(DevicePolling(lifetime: 60_000, interval: nil, at: 100).first == .poll(at: 5_100))
    #expect(DevicePolling(lifetime: 60_000, interval: 7_000, at: 100).first == .poll(at: 7_100))
    var polling = DevicePolling(lifetime: 60_000, interval: nil, at: 0)
    #expect(polling.received(.pending, at: 6_000) == .poll(at: 11_000))
    #expect(polling.received(.pending, at: 11_500) == .poll(at: 16_500))
  }

  @Test func `slow_down lengthens the interval of all later polls`() {
    var polling = DevicePolling(lifetime: 600_000, interval: nil, at: 0)
    #expect(polling.received(.slowDown, at: 5_000) == .poll(at: 15_000))
    #expect(polling.received(.pending, at: 15_000) == .poll(at: 25_000))
    #expect(polling.received(.slowDown, at: 25_000) == .poll(at: 40_000))
    #expect(polling.received(.pending, at: 40_000) == .poll(at: 55_000))
  }

  @Test func `each failed poll doubles the interval, up to five minutes`() {
    var polling = DevicePolling(lifetime: 10_000_000, interval: nil, at: 0)
    #expect(polling.failed(at: 0) == .poll(at: 10_000))
    #expect(polling.failed(at: 0) == .poll(at: 20_000))
    #expect(polling.received(.pending, at: 0) == .poll(at: 20_000))
    for _ in 0..<20 { _ = polling.failed(at: 0) }
    #expect(polling.failed(at: 0) == .poll(at: 300_000))
  }

  @Test func `polling ends when the login is denied or the code expires`() {
    var polling = DevicePolling(lifetime: 12_000, interval: nil, at: 0)
    #expect(polling.received(.denied, at: 1) == .ended(.denied))
    #expect(polling.received(.expired, at: 1) == .ended(.expired))
    #expect(polling.received(.pending, at: 6_999) == .poll(at: 11_999))
    #expect(polling.received(.pending, at: 7_000) == .ended(.expired))
    #expect(polling.failed(at: 3_000) == .ended(.expired))
    #expect(DevicePolling(lifetime: 5_000, interval: nil, at: 0).first == .ended(.expired))
  }

  @Test func `extreme times and intervals do not trap`() {
    #expect(DevicePolling(lifetime: .max, interval: 0, at: 0).first == .poll(at: 1_000))
    #expect(DevicePolling(lifetime: .max, interval: .max, at: 0).first == .poll(at: 300_000))
    var late = DevicePolling(lifetime: .max, interval: nil, at: .max - 1)
    #expect(late.first == .ended(.expired))
    #expect(late.received(.slowDown, at: .max) == .ended(.expired))
    #expect(late.failed(at: .max) == .ended(.expired))
  }

  private static let start =
    #""device_code":"dc","user_code":"WDJB-MJHT","verification_uri":"https://e.example/device""#

  @Test func `a device login has one code for the user and one code for bearerd`() throws {
    let body =
      #"{\#(Self.start),"verification_uri_complete":"https://e.example/device?c=W","expires_in":1800,"interval":5}"#
    let authorization = try read(body)
    #expect(text(authorization.deviceCode) == "dc")
    #expect(authorization.userCode == "WDJB-MJHT")
    #expect(authorization.verificationURI == "https://e.example/device")
    #expect(authorization.verificationURIComplete == "https://e.example/device?c=W")
    #expect(authorization.lifetime == 1_800_000)
    #expect(authorization.interval == 5_000)
    let short = try read("{\(Self.start),\"expires_in\":1e300}")
    #expect(short.interval == nil && short.verificationURIComplete == nil && short.lifetime == 86_400_000)
  }

  @Test(arguments: [
    "{}", #"{\#(start)}"#, #"{\#(start),"expires_in":0}"#, #"{\#(start),"expires_in":"x"}"#,
    #"{"user_code":"a","verification_uri":"https://e.example","expires_in":9}"#,
    #"{"device_code":"","user_code":"a","verification_uri":"https://e.example","expires_in":9}"#,
    #"{"device_code":"a","user_code":"","verification_uri":"https://e.example","expires_in":9}"#,
    #"{"device_code":"a","user_code":"a\u001b[2J","verification_uri":"https://e.example","expires_in":9}"#,
    #"{"device_code":"a","user_code":"a","verification_uri":"http://e.example","expires_in":9}"#,
    #"{"device_code":"a","user_code":"a","verification_uri":"javascript:alert(1)","expires_in":9}"#,
    #"{"device_code":"a","user_code":"a","verification_uri":"https://e.example/ x","expires_in":9}"#,
    #"{"device_code":"a","user_code":"a","verification_uri":"https://e.example\u001b[2J","expires_in":9}"#,
    #"{"error":"invalid_client"}"#,
  ])
  func `a response with control characters or a link without https is refused`(_ body: String) {
    #expect(throws: TokenRefusal.self) { _ = try read(body) }
  }

  private func read(_ body: String) throws(TokenRefusal) -> DeviceAuthorization {
    let bytes = Array(body.utf8)
    guard let source = try? source() else { throw TokenRefusal(.final, "") }
    return try DeviceAuthorization.read(
      TokenResponseHead(status: 200, contentType: "application/json"), bytes.span, of: source, now: 0, in: arena)
  }
}
