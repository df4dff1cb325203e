import Foundation
import Policy
import Testing

@testable import Gateway

/// Reports of failed verifications (RFC 7469 section 3).
@Suite struct ReportTests {
  private static let pin = "BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k="
  private let host = try! HostName(parsing: "reports.test")

  private func failure(
    _ service: String = "api", upstream: String = "https://api.test:8443/secret/", address: String = "192.0.2.1:8443",
    verdict: RefusalCode = .pinMismatch, chain: UInt8 = 1, expires: Int64? = nil, policy: String? = nil,
    leafEnds: Int64? = 2_000_000_000
  ) throws -> VerificationFailure {
    var pinning = PinPolicy()
    pinning.pins = [try Pin(parsing: "sha256/" + Self.pin)]
    pinning.expires = expires
    (pinning.policy, pinning.includesSubdomains) = (policy, policy != nil)
    return VerificationFailure(
      service: service, upstream: try Upstream(parsing: upstream), address: address, verdict: verdict, pinning: pinning,
      served: [Array(repeating: chain, count: 100), [1, 2, 3]], validated: [[4, 5]], fingerprint: [chain],
      leafEnds: leafEnds)
  }

  private func object(_ failure: VerificationFailure) throws -> [String: Any] {
    let json = VerificationReport.json(failure, at: 1_782_864_000)
    return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
  }

  // MARK: the text

  @Test func `a report has the members of RFC 7469, and service, address and verdict`() throws {
    let report = try object(failure())
    #expect(
      report.keys.sorted() == [
        "address", "date-time", "effective-expiration-date", "hostname", "include-subdomains", "known-pins",
        "noted-hostname", "port", "served-certificate-chain", "service", "validated-certificate-chain", "verdict",
      ])
    #expect(report["date-time"] as? String == "2026-07-01T00:00:00Z")
    #expect(report["effective-expiration-date"] as? String == "2033-05-18T03:33:20Z")
    #expect(report["hostname"] as? String == "api.test")
    #expect(report["noted-hostname"] as? String == "api.test")
    #expect(report["port"] as? Int == 8443)
    #expect(report["include-subdomains"] as? Bool == false)
    #expect(report["known-pins"] as? [String] == ["pin-sha256=\"\(Self.pin)\""])
    #expect(report["service"] as? String == "api")
    #expect(report["address"] as? String == "192.0.2.1:8443")
    #expect(report["verdict"] as? String == "pin-mismatch")
    #expect(
      report["validated-certificate-chain"] as? [String] == [
        "-----BEGIN CERTIFICATE-----\nBAU=\n-----END CERTIFICATE-----\n"
      ])
    let served = try #require(report["served-certificate-chain"] as? [String])
    #expect(served.count == 2)
    let lines = served[0].split(separator: "\n")
    #expect(lines.count == 5 && lines.allSatisfy { $0.utf8.count <= 64 })
    #expect(Data(base64Encoded: lines.dropFirst().dropLast().joined()) == Data(repeating: 1, count: 100))
  }

  @Test func `with pins of a policy, a report has its name and when the pins expire`() throws {
    let report = try object(failure(expires: 1_798_761_600, policy: "test"))
    #expect(report["noted-hostname"] as? String == "test")
    #expect(report["include-subdomains"] as? Bool == true)
    #expect(report["effective-expiration-date"] as? String == "2027-01-01T00:00:00Z")
    let unknown = try object(failure(leafEnds: nil))
    #expect(!unknown.keys.contains("effective-expiration-date"))
  }

  @Test func `the request has the query of the report URL, and not the path of the upstream`() throws {
    let url = try Endpoint(parsingWithQuery: "https://reports.test/pins?team=web")
    let failure = try failure()
    let bytes = VerificationReport.request(failure, to: url, at: 0)
    let text = String(decoding: bytes, as: UTF8.self)
    let body = VerificationReport.json(failure, at: 0)
    #expect(text.hasPrefix("POST /pins?team=web HTTP/1.1\r\nHost: reports.test\r\n"))
    #expect(text.contains("\r\nContent-Length: \(body.count)\r\n"))
    #expect(Array(bytes.suffix(body.count + 4)) == Array("\r\n\r\n".utf8) + body)
    #expect(!text.contains("secret"))
  }

  // MARK: which failures

  @Test func `only failures of the certificate, the name and the pins are reported`() {
    let reported = RefusalCode.allCases.filter(VerificationFailure.isReported).map { $0.row.code.description }
    #expect(
      reported.sorted() == [
        "certificate-expired", "certificate-invalid", "certificate-revoked", "hostname-mismatch", "pin-mismatch",
        "pins-expired",
      ])
  }

  @Test func `a failure is new again after 24 hours`() throws {
    var history = ReportHistory()
    let key = try failure().key
    let day = ReportHistory.period
    let times: [UInt64] = [1_000, 999, 999 + day, 1_000 + day, 1_001 + day]
    let isNew = times.map { history.add(key, at: $0) }
    #expect(isNew == [true, false, false, true, false])
  }

  @Test func `another service, address, verdict or chain is another failure`() throws {
    var history = ReportHistory()
    let keys = try [
      failure(), failure("web"), failure(address: "192.0.2.2:8443"), failure(verdict: .certificateInvalid),
      failure(chain: 2),
    ].map(\.key)
    let isNew = (keys + keys).map { history.add($0, at: 0) }
    #expect(isNew == keys.map { _ in true } + keys.map { _ in false })
  }

  @Test func `the oldest failure makes room for a further one`() throws {
    var history = ReportHistory()
    let keys = try (0...ReportHistory.limit).map { try failure("s\($0)").key }
    let isNew = keys.map { history.add($0, at: 0) }
    #expect(isNew.allSatisfy { $0 })
    let (second, first) = (history.add(keys[1], at: 1), history.add(keys[0], at: 1))
    #expect(!second && first)
  }

  @Test func `one report is sent at a time, and at most 16 wait`() throws {
    var queue = ReportQueue()
    let failure = try failure()
    let isFirstAdded = queue.add(failure, reportHost: host) { true }
    #expect(isFirstAdded)
    let first = queue.next()
    #expect(first?.service == "api" && queue.isSending && queue.isEmpty)
    let areAdded = (0..<ReportQueue.limit).map { _ in queue.add(failure, reportHost: host) { true } }
    #expect(areAdded.allSatisfy { $0 })
    var wasAsked = false
    let isAdded = queue.add(failure, reportHost: host) {
      wasAsked = true
      return true
    }
    #expect(!isAdded && !wasAsked)
    let early = queue.next()
    #expect(early?.service == nil)
    queue.finished(isSent: true)
    let second = queue.next()
    #expect(second?.service == "api")
    queue.finished(isSent: false)
    queue.finished(isSent: false)
    queue.removeAll()
    #expect(queue.isEmpty)
    let counts = queue.counts
    #expect([counts.sent, counts.failed, counts.suppressed] == [1, 1, 16])
  }

  @Test func `nothing is reported about the report host itself, also not by its other name`() throws {
    var queue = ReportQueue()
    let own = try failure(upstream: "https://reports.test:1234/")
    var upstream = own.upstream
    upstream.setServerName(try HostName(parsing: "api.test"))
    let dialed = VerificationFailure(
      service: "api", upstream: upstream, address: "", verdict: .pinMismatch, pinning: PinPolicy(), served: [],
      validated: [], fingerprint: [], leafEnds: nil)
    let areAdded = [own, dialed].map { queue.add($0, reportHost: host) { true } }
    #expect(areAdded == [false, false])
    let isOldAdded = queue.add(try failure(), reportHost: host) { false }
    #expect(!isOldAdded)
    #expect(queue.counts.suppressed == 3 && queue.isEmpty)
  }

  // MARK: the response

  private func outcome(_ text: String) -> ReportResponse.Outcome {
    var response = ReportResponse()
    var outcome = ReportResponse.Outcome.needsMore
    for byte in text.utf8 {
      let bytes = [byte]
      outcome = response.receive(bytes.span)
      if outcome != .needsMore { break }
    }
    return outcome
  }

  @Test func `a 2xx response accepts the report, also after an interim response`() {
    #expect(outcome("HTTP/1.1 204 No Content\r\n") == .accepted)
    #expect(outcome("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.0 200 OK\r\n") == .accepted)
    #expect(outcome("HTTP/1.1 20") == .needsMore)
  }

  @Test(arguments: [
    "HTTP/1.1 301 Moved\r\n", "HTTP/1.1 500 Oops\r\n", "HTTP/2.0 200 OK\r\n", "220 mail.test ESMTP\r\n",
    "HTTP/1.1 -20 OK\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nX: " + String(repeating: "x", count: 5_000),
  ]) func `every other response refuses the report`(text: String) {
    guard case .refused = outcome(text) else {
      Issue.record("accepted or not decided: \(text.prefix(40))")
      return
    }
  }
}
