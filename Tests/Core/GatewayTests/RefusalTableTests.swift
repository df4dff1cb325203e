import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// The error responses that bearerd writes itself.
@Suite struct RefusalTableTests {
  @Test func `different reasons have different codes`() {
    var seen: Set<RefusalCode> = []
    for refusal in refusals where !shares(refusal) {
      #expect(seen.insert(refusal.code).inserted, "\(refusal)")
    }
  }

  /// Whether several refusals have this code: malformed requests, whose reason is separate, and refused callers, who do
  /// not learn the list.
  private func shares(_ refusal: Refusal) -> Bool {
    switch refusal {
    case .malformed: true
    default: [.callerNotAllowed, .clientUnknown, .clientNotAllowed].contains(refusal.code)
    }
  }

  @Test func `every code has a unique name and a refusal`() {
    #expect(Set(RefusalCode.allCases.map(\.row.code.description)).count == RefusalCode.allCases.count)
    #expect(Set(refusals.map(\.code)) == Set(RefusalCode.allCases))
    for code in RefusalCode.allCases { #expect(RefusalCode(named: code.row.code.description) == code) }
    #expect(RefusalCode(named: "") == nil)
  }

  @Test(arguments: refusals)
  func `every row has a valid status, proxy error, code and title`(refusal: Refusal) {
    let row = refusal.row
    #expect([400, 403, 404, 405, 408, 413, 414, 417, 421, 429, 431, 500, 501, 502, 503, 504, 505].contains(row.status))
    #expect(registered.contains(row.proxyError.description), "\(row.proxyError)")
    #expect(
      row.code.description.utf8.allSatisfy { $0 == 0x2D || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
    #expect(row.title.description.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
    #expect(!row.title.description.hasSuffix("."))
  }

  @Test(arguments: refusals, [false, true])
  func `an error response contains its table row and nothing else`(refusal: Refusal, closes: Bool) {
    let row = refusal.row
    var response = OutgoingResponse()
    Problem.write(refusal, of: RequestHead(), admitted: nil, to: &response)
    var output = ByteBuffer()
    HTTP1ClientEdge.writeLocal(response, to: .get, closes: closes, into: &output)
    var reason = ""
    if case .malformed(let cause) = refusal { reason = ",\"reason\":\"\(cause.rawValue)\"" }
    if case .tokenUnavailable(_, let trouble) = refusal { reason = ",\"reason\":\"\(trouble.rawValue)\"" }
    if case .rateLimited = refusal { reason = ",\"rate\":\"60/m\",\"of\":\"service\"" }
    let body =
      "{\"type\":\"urn:bearerd:error:\(row.code)\",\"title\":\"\(row.title)\",\"status\":\(row.status)\(reason)"
      + ",\"help\":\"bearerctl errors \(row.code)\"}\n"
    let text = String(decoding: output.contents, as: UTF8.self)
    #expect(text.hasSuffix("\r\n\r\n" + body))
    var lines = [
      "Content-Type: application/problem+json",
      "Proxy-Status: bearerd; error=\(row.proxyError); details=\"\(row.code)\"", "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff",
    ]
    if row.status == 405 { lines.append("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS") }
    if case .credentialSuspended(let time?) = refusal { lines.append("Retry-After: \((time + 999) / 1_000)") }
    if refusal == .credentialSuspended(nil) || refusal == .plain(.loginRequired) || refusal == .plain(.loggedOut) {
      lines.append("x-should-retry: false")
    }
    if case .tokenUnavailable(let time, _) = refusal { lines.append("Retry-After: \((time + 999) / 1_000)") }
    if row.status == 429 { lines.append("Retry-After: \(row.code.description == "rate-limited" ? 2 : 1)") }
    lines.append("Content-Length: \(body.utf8.count)")
    if closes { lines.append("Connection: close") }
    #expect(Array(head(text).dropFirst()) == lines)
    #expect(head(text)[0].hasPrefix("HTTP/1.1 \(row.status) ") && !head(text)[0].hasSuffix("Refused"))
  }

  @Test func `a refused HEAD request gets the same fields as GET, without a body`() throws {
    let get = exchange(get(target: "/none"), nil, try snapshot()).response
    let played = exchange(GatewayTests.get(target: "/none", method: "HEAD"), nil, try snapshot()).response
    #expect(played.hasSuffix("\r\n\r\n"))
    #expect(head(played) == head(get))
  }

  /// The previous request was a HEAD. The response to the unreadable head has a body again.
  @Test func `an unreadable head is not mistaken for the previous request`() throws {
    var played = Conversation(try snapshot())
    played.client(get(target: "/api/secret-path", method: "HEAD"))
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
    let before = played.response
    played.client("nonsense\r\n\r\n")
    #expect(played.response.dropFirst(before.count).hasSuffix("}\n"))
    #expect(played.head.bytes.isEmpty && played.head.methodRange.isEmpty && played.target.path.isEmpty)
    let record = try #require(played.records.last)
    #expect(record.route == nil && record.method == .other)
  }

  @Test(arguments: ["GET /a HTTP/1.1\r\nbad field\r\n", "OPTIONS /a HTTP/1.1\r\n"])
  func `a partly read head has valid ranges for the log`(bytes: String) throws {
    var played = Conversation(try snapshot())
    played.client(bytes)
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(played.isOver)
    #expect(played.head.methodRange.upperBound <= played.head.bytes.count)
    #expect(played.head.fields.isEmpty)
  }

  @Test func `a refused request does not show the path of the previous request`() throws {
    var played = exchange(get(target: "/api/first"), ok(), try snapshot())
    played.client("GET /api/second HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    #expect(played.records.last?.status == 421)
    #expect(played.target.path.isEmpty)
    #expect(played.records.last?.route == nil)
  }
}

/// RFC 9209 §2.3.
let registered: Set<String> = [
  "dns_timeout", "dns_error", "destination_not_found", "destination_unavailable", "destination_ip_prohibited",
  "destination_ip_unroutable", "connection_refused", "connection_terminated", "connection_timeout",
  "connection_read_timeout", "connection_write_timeout", "connection_limit_reached", "tls_protocol_error",
  "tls_certificate_error", "tls_alert_received", "http_request_error", "http_request_denied",
  "http_response_incomplete", "http_response_header_section_size", "http_response_header_size",
  "http_response_body_size", "http_response_trailer_section_size", "http_response_trailer_size",
  "http_response_transfer_coding", "http_response_content_coding", "http_response_timeout", "http_upgrade_failed",
  "http_protocol_error", "proxy_internal_response", "proxy_internal_error", "proxy_configuration_error",
  "proxy_loop_detected",
]

/// One refusal for each case that has more information than its code.
let detailed: [Refusal] =
  MessageError.Reason.allCases.map { .malformed($0) }
  + [
    PolicyRefusal.callerUnknown, .callerNotAllowed(uid: 77), .clientTokenMissing, .clientTokenMalformed,
    .clientTokenUnknown, .hostNotAllowed,
    .authorityMismatch, .originNotAllowed,
    .crossSite, .siteUnknown, .methodNotSupported, .badPath, .dotSegment, .forbiddenCharacter, .badEscape, .fragment,
    .ambiguousPath,
    .noService, .noRule(service: 77), .denied(service: 77, rule: 77), .callerNotAllowedHere(service: 77, uid: 77),
    .callerNotGranted(service: 77, grant: 77, uid: 77), .clientNotAllowedHere(service: 77),
    .clientNotGranted(service: 77, grant: 77),
  ].map { .policy($0) }
  + [
    .tokenUnavailable(1_500, .storm), .credentialSuspended(1_500),
    .rateLimited(RateExcess(Rate(requests: 60, per: .minute), rule: nil, wait: 1_001)),
  ]

/// One refusal for every code, and all of `detailed`.
let refusals =
  detailed + RefusalCode.allCases.filter { code in !detailed.contains { $0.code == code } }.map { .plain($0) }
