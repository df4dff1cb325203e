package import HTTP1
package import Policy
package import Primitives

/// Writes an answer of our own: RFC 9457 problem+json with RFC 9209 Proxy-Status. The extension member `help` is the command
/// that explains the `type`.
package enum Problem {
  /// - Parameters:
  ///   - head: what is refused; of a HEAD everything but the body is written.
  ///   - admitted: nil if admission did not let it in, or was not asked.
  ///   - page: the listed page that asks all the same, so that it can read why not.
  ///   - fault: the place of the fault in the request, as far as it is known.
  ///   - timeout: the timeout of the request that has passed.
  ///   - response: the fault of the upstream's response that is refused; nil if something else is.
  ///   - closes: the connection ends after this answer.
  /// - Returns: the number of body bytes.
  @discardableResult
  package static func write(
    _ refusal: Refusal, of head: RequestHead, admitted: AdmittedRequest?, page: [UInt8]? = nil,
    fault: MessageFault = MessageFault(), timeout: RequestTimeout? = nil, response: ResponseFault? = nil, closes: Bool,
    to output: inout ByteBuffer
  ) -> Int {
    let row = refusal.row
    var body = begin(row, status: row.status)
    if case .malformed(let reason) = refusal {
      body.append(",\"reason\":\"")
      body.append(reason.rawValue)
      body.append("\"")
    }
    if case .tokenUnavailable(_, let trouble) = refusal {
      body.append(",\"reason\":\"")
      body.append(trouble.rawValue)
      body.append("\"")
    }
    if let response { append(response, to: &body) }
    append(fault, to: &body)
    if let timeout {
      body.append(",\"key\":\"")
      body.append(timeout.rawValue)
      body.append("\"")
    }
    if response?.isReused == true { body.append(",\"reused\":true") }
    // Nothing else that a request says is repeated: an origin that was taken apart and put together again.
    if refusal == .policy(.originNotAllowed), let origin = PageOrigins.origin(of: head) {
      var line = JSONWriter()
      line.member(nil, PageOrigins([]).line(adding: origin))
      body.append(",\"add\":")
      body.append(contentsOf: line.bytes)
    }
    if case .rateLimited(let excess) = refusal { append(excess, to: &body) }
    end(row, &body)

    output.append("HTTP/1.1 ")
    output.append(decimal: UInt64(row.status))
    output.append(" ")
    output.append(Problem.phrase(row.status))
    output.append("\r\nContent-Type: application/problem+json\r\nContent-Length: ")
    output.append(decimal: UInt64(body.count))
    output.append("\r\nProxy-Status: bearerd; error=")
    output.append(row.proxyError)
    output.append("; details=\"")
    output.append(row.code)
    output.append("\"\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
    if row.status == 405 { output.append(allowedMethods) }
    if let time = patience(refusal) {
      // RFC 9110 section 10.2.3: whole seconds.
      output.append("Retry-After: ")
      output.append(decimal: time / 1_000 &+ (time % 1_000 == 0 ? 0 : 1))
      output.append("\r\n")
    } else if needsPerson(refusal) {
      // SDKs that would try again by themselves, and keep their program waiting, do not.
      output.append("x-should-retry: false\r\n")
    }
    if let admitted { CrossOrigin.write(for: admitted, to: &output) }
    if let page { CrossOrigin.write(page, to: &output) }
    if closes { output.append("Connection: close\r\n") }
    output.append("\r\n")
    if head.method == .head { return 0 }
    output.append(contentsOf: body.contents)
    return body.count
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

  /// In the place of an upstream's body that cannot be searched, with the upstream's status.
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

  /// The place of a fault: numbers, names of ours and keys of the configuration.
  private static func append(_ fault: MessageFault, to body: inout ByteBuffer) {
    if let line = fault.line {
      body.append(",\"line\":")
      body.append(decimal: UInt64(max(line, 0)))
    }
    if let character = fault.character {
      body.append(",\"character\":\"")
      body.append(character.name)
      body.append("\",\"position\":")
      body.append(decimal: UInt64(max(character.position, 0)))
      body.append(",\"escape\":\"")
      body.append(character.escape)
      body.append("\"")
    }
    if let limit = fault.limit {
      body.append(",\"key\":\"")
      body.append(limit.key.rawValue)
      body.append("\",\"limit\":")
      body.append(decimal: UInt64(max(limit.value, 0)))
    }
    if let count = fault.count {
      body.append(",\"count\":")
      body.append(decimal: UInt64(max(count, 0)))
    }
  }

  /// The fault of a response: names of ours, and the name of a field, which holds no quotation mark and no backslash.
  private static func append(_ response: ResponseFault, to body: inout ByteBuffer) {
    if let reason = response.reason {
      body.append(",\"reason\":\"")
      body.append(reason.rawValue)
      body.append("\"")
    }
    if !response.field.isEmpty {
      body.append(",\"field\":\"")
      body.append(response.field.span)
      body.append("\"")
    }
  }

  /// Methods that are in general use; a rule may know others.
  static let allowedMethods: StaticString = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"

  /// Which limit it is that is reached: numbers of the configuration.
  private static func append(_ excess: RateExcess, to body: inout ByteBuffer) {
    body.append(",\"rate\":\"")
    body.append(excess.rate.description)
    body.append("\",\"of\":\"")
    if let rule = excess.rule {
      body.append("rule ")
      body.append(decimal: UInt64(rule) &+ 1)
    } else {
      body.append("service")
    }
    body.append("\"")
  }

  /// Nothing but what a person does helps: another try would find the same.
  private static func needsPerson(_ refusal: Refusal) -> Bool {
    switch refusal {
    case .plain(.loginRequired), .plain(.loggedOut), .credentialSuspended(nil): true
    default: false
    }
  }

  /// Milliseconds until it is worth asking again; nil: that cannot be said.
  private static func patience(_ refusal: Refusal) -> UInt64? {
    if case .credentialSuspended(let time) = refusal { return time }
    if case .tokenUnavailable(let time, _) = refusal { return time }
    if case .rateLimited(let excess) = refusal { return excess.wait }
    return refusal.row.status == 429 ? 1_000 : nil
  }

  static func phrase(_ status: Int) -> StaticString {
    switch status {
    case 400: "Bad Request"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Refused"
    }
  }
}
