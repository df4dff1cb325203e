package import HTTP1
package import Policy
internal import Primitives

/// Writes an error response of bearerd: RFC 9457 problem+json, with RFC 9209 Proxy-Status.
package enum Problem {
  /// Writes an error response. For a request with the method HEAD, the body is not sent.
  /// - Parameters:
  ///   - admitted: the admitted request. `nil` if there is none.
  ///   - detail: the text of the rule that refuses the request. `nil` if the rule has none, or if no rule refuses.
  ///   - page: the origin of a web page that may read the response although its request was not admitted.
  ///   - response: the fault of the upstream's response. `nil` if something else is refused.
  package static func write(
    _ refusal: Refusal, of head: RequestHead, admitted: AdmittedRequest?, detail: String? = nil, page: [UInt8]? = nil,
    fault: MessageFault = MessageFault(), timeout: RequestTimeout? = nil, response: ResponseFault? = nil,
    to output: inout OutgoingResponse
  ) {
    let row = refusal.row
    var body = begin(row, status: row.status)
    if let detail {
      var text = JSONWriter()
      text.member(nil, detail)
      body.append(",\"detail\":")
      body.append(contentsOf: text.bytes)
    }
    if case .malformed(let reason) = refusal { member("reason", reason.rawValue, to: &body) }
    if case .tokenUnavailable(_, let reason) = refusal { member("reason", reason.rawValue, to: &body) }
    if let response { append(response, to: &body) }
    append(fault, to: &body)
    if let timeout { member("key", timeout.rawValue, to: &body) }
    if response?.isReused == true { body.append(",\"reused\":true") }
    // The only repeated part of the request is the origin, which was parsed and written again.
    if refusal == .policy(.originNotAllowed), let origin = PageOrigins.origin(of: head) {
      var line = JSONWriter()
      line.member(nil, PageOrigins([]).line(adding: origin))
      body.append(",\"add\":")
      body.append(contentsOf: line.bytes)
    }
    if case .rateLimited(let excess) = refusal { append(excess, to: &body) }
    end(row, &body)

    output.begin(row.status, reason: ReasonPhrase.standard(row.status) ?? "Refused")
    writeFields(of: refusal, row, admitted, page, to: &output.fields)
    output.append(content: body.contents)
  }

  private static func writeFields(
    of refusal: Refusal, _ row: RefusalRow, _ admitted: AdmittedRequest?, _ page: [UInt8]?, to output: inout ByteBuffer
  ) {
    output.append("Content-Type: application/problem+json\r\n")
    writeProxyStatus(row, to: &output)
    output.append("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
    if row.status == 405 { output.append(allowedMethods) }
    if let time = retryDelay(refusal) {
      // RFC 9110 section 10.2.3: whole seconds.
      output.append("Retry-After: ")
      output.append(decimal: time / 1_000 &+ (time % 1_000 == 0 ? 0 : 1))
      output.append("\r\n")
    } else if needsUserAction(refusal) {
      // Stops the automatic retries of SDKs, which would only delay the program.
      output.append("x-should-retry: false\r\n")
    }
    if let admitted { CrossOrigin.write(for: admitted, to: &output) }
    if let page { CrossOrigin.write(page, to: &output) }
  }

  static func writeProxyStatus(_ row: RefusalRow, to output: inout ByteBuffer) {
    output.append("Proxy-Status: bearerd; error=")
    output.append(row.proxyError)
    output.append("; details=\"")
    output.append(row.code)
    output.append("\"\r\n")
  }

  private static func begin(_ row: RefusalRow, status: Int) -> ByteBuffer {
    var body = ByteBuffer()
    body.append("{\"type\":\"urn:bearerd:error:")
    body.append(row.code)
    body.append("\",\"title\":\"")
    body.append(row.title)
    body.append("\",\"status\":")
    body.append(decimal: UInt64(status))
    return body
  }

  private static func end(_ row: RefusalRow, _ body: inout ByteBuffer) {
    body.append(",\"help\":\"bearerctl errors ")
    body.append(row.code)
    body.append("\"}\n")
  }

  /// Returns the error body to send instead of a response body that cannot be searched.
  static func encodedAnswer(_ status: Int) -> ByteBuffer {
    var body = begin(RefusalCode.encodedAnswer.row, status: status)
    end(RefusalCode.encodedAnswer.row, &body)
    return body
  }

  static func writeEncodedAnswerFields(_ status: Int, to output: inout ByteBuffer) {
    output.append("Content-Type: application/problem+json\r\nProxy-Status: bearerd; received-status=")
    output.append(decimal: UInt64(status))
    output.append("; details=\"")
    output.append(RefusalCode.encodedAnswer.row.code)
    output.append("\"\r\nX-Content-Type-Options: nosniff\r\n")
  }

  private static func append(_ fault: MessageFault, to body: inout ByteBuffer) {
    if let line = fault.line { member("line", line, to: &body) }
    if let character = fault.character {
      member("character", character.name.description, to: &body)
      member("position", character.position, to: &body)
      member("escape", character.escape, to: &body)
    }
    if let limit = fault.limit {
      member("key", limit.key.rawValue, to: &body)
      member("limit", limit.value, to: &body)
    }
    if let count = fault.count { member("count", count, to: &body) }
  }

  /// Appends the reason and the faulty field of a malformed response, as JSON members.
  private static func append(_ response: ResponseFault, to body: inout ByteBuffer) {
    if let reason = response.reason { member("reason", reason.rawValue, to: &body) }
    // The name is a token, so it needs no JSON escapes.
    if !response.field.isEmpty {
      body.append(",\"field\":\"")
      body.append(response.field.span)
      body.append("\"")
    }
  }

  /// An Allow field with the common methods.
  static let allowedMethods: StaticString = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"

  private static func append(_ excess: RateExcess, to body: inout ByteBuffer) {
    member("rate", excess.rate.description, to: &body)
    member("of", excess.rule.map { "rule \($0 &+ 1)" } ?? "service", to: &body)
  }

  /// Appends a JSON member. The value must not need escapes.
  private static func member(_ name: String, _ value: String, to body: inout ByteBuffer) {
    body.append(",\"")
    body.append(name)
    body.append("\":\"")
    body.append(value)
    body.append("\"")
  }

  private static func member(_ name: String, _ value: Int, to body: inout ByteBuffer) {
    body.append(",\"")
    body.append(name)
    body.append("\":")
    body.append(decimal: UInt64(max(value, 0)))
  }

  static func needsUserAction(_ refusal: Refusal) -> Bool {
    switch refusal {
    case .plain(.loginRequired), .plain(.loggedOut), .credentialSuspended(nil): true
    default: false
    }
  }

  /// Returns the milliseconds until a retry makes sense. `nil` if this is unknown.
  static func retryDelay(_ refusal: Refusal) -> UInt64? {
    if case .credentialSuspended(let time) = refusal { return time }
    if case .tokenUnavailable(let time, _) = refusal { return time }
    if case .rateLimited(let excess) = refusal { return excess.wait }
    return refusal.row.status == 429 ? 1_000 : nil
  }
}
