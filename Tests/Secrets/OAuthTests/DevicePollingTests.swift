import Credentials
import Secrets
import OAuth
import Testing

/// RFC 8628, with a clock of the test's own.
@Suite struct DevicePollingTests {
  @Test func `five seconds between polls unless the server says otherwise`() {
    #expect(DevicePolling(lifetime: 60_000, interval: nil, at: 100).first == .ask(at: 5_100))
    #expect(DevicePolling(lifetime: 60_000, interval: 7_000, at: 100).first == .ask(at: 7_100))
    var polling = DevicePolling(lifetime: 60_000, interval: nil, at: 0)
    #expect(polling.answered(.pending, at: 6_000) == .ask(at: 11_000))
    #expect(polling.answered(.pending, at: 11_500) == .ask(at: 16_500))
  }

  @Test func `slow_down holds for all later polls`() {
    var polling = DevicePolling(lifetime: 600_000, interval: nil, at: 0)
    #expect(polling.answered(.slowDown, at: 5_000) == .ask(at: 15_000))
    #expect(polling.answered(.pending, at: 15_000) == .ask(at: 25_000))
    #expect(polling.answered(.slowDown, at: 25_000) == .ask(at: 40_000))
    #expect(polling.answered(.pending, at: 40_000) == .ask(at: 55_000))
  }

  @Test func `after each poll without an answer it asks half as often`() {
    var polling = DevicePolling(lifetime: 10_000_000, interval: nil, at: 0)
    #expect(polling.failed(at: 0) == .ask(at: 10_000))
    #expect(polling.failed(at: 0) == .ask(at: 20_000))
    #expect(polling.answered(.pending, at: 0) == .ask(at: 20_000))
    for _ in 0..<20 { _ = polling.failed(at: 0) }
    #expect(polling.failed(at: 0) == .ask(at: 300_000))
  }

  @Test func `it ends when it is denied, when the code has expired, and at the end of its time`() {
    var polling = DevicePolling(lifetime: 12_000, interval: nil, at: 0)
    #expect(polling.answered(.denied, at: 1) == .ended(.denied))
    #expect(polling.answered(.expired, at: 1) == .ended(.expired))
    #expect(polling.answered(.pending, at: 6_999) == .ask(at: 11_999))
    #expect(polling.answered(.pending, at: 7_000) == .ended(.expired))
    #expect(polling.failed(at: 3_000) == .ended(.expired))
    #expect(DevicePolling(lifetime: 5_000, interval: nil, at: 0).first == .ended(.expired))
  }

  @Test func `no number is too small or too large`() {
    #expect(DevicePolling(lifetime: .max, interval: 0, at: 0).first == .ask(at: 1_000))
    #expect(DevicePolling(lifetime: .max, interval: .max, at: 0).first == .ask(at: 300_000))
    var late = DevicePolling(lifetime: .max, interval: nil, at: .max - 1)
    #expect(late.first == .ended(.expired))
    #expect(late.answered(.slowDown, at: .max) == .ended(.expired))
    #expect(late.failed(at: .max) == .ended(.expired))
  }

  private static let start =
    #""device_code":"dc","user_code":"WDJB-MJHT","verification_uri":"https://e.example/device""#

  @Test func `a login begins with a code for the person and one for us`() throws {
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
  func `nothing is shown that a terminal would obey, and no link that is not https`(_ body: String) {
    #expect(throws: TokenRefusal.self) { _ = try read(body) }
  }

  private func read(_ body: String) throws(TokenRefusal) -> DeviceAuthorization {
    let bytes = Array(body.utf8)
    guard let source = try? source() else { throw TokenRefusal(.final, "") }
    return try DeviceAuthorization.read(
      AnswerHead(status: 200, contentType: "application/json"), bytes.span, of: source, now: 0, in: arena)
  }
}
