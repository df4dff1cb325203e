internal import HTTP1
internal import Policy
internal import Primitives

/// Writes an error response of bearerd to a gRPC call: a head that is also the trailers, without a body ("Trailers-Only").
enum GRPCProblem {
  /// Maximum size of the text in `grpc-message` before it is encoded, in bytes. Clients limit the size of a head to 8 KiB.
  static var maximumText: Int { 1_024 }

  /// Writes an error response.
  /// - Parameters:
  ///   - detail: the text of the rule that refuses the request. `nil` if the rule has none, or if no rule refuses.
  ///   - reason: further words, such as the exceeded limit. Empty if there are none.
  static func write(_ refusal: Refusal, detail: String?, reason: String, to output: inout OutgoingResponse) {
    output.begin(200, reason: "OK")
    output.fields.append("Content-Type: application/grpc\r\n")
    writeStatus(refusal, detail: detail, reason: reason, to: &output.fields)
    Problem.writeProxyStatus(refusal.row, to: &output.fields)
  }

  /// Writes the status as whole lines, for the head of a response or as trailers.
  static func writeStatus(_ refusal: Refusal, detail: String?, reason: String, to output: inout ByteBuffer) {
    let row = refusal.row
    output.append("grpc-status: ")
    output.append(decimal: UInt64(row.grpc.rawValue))
    output.append("\r\ngrpc-message: ")
    writeEncoded(text(row, detail, reason), to: &output)
    output.append("\r\n")
    // gRPC's retry design (A6): milliseconds, or a negative number if the client must not try again by itself.
    if let time = Problem.retryDelay(refusal) {
      output.append("grpc-retry-pushback-ms: ")
      output.append(decimal: time)
      output.append("\r\n")
    } else if Problem.needsUserAction(refusal) {
      output.append("grpc-retry-pushback-ms: -1\r\n")
    }
  }

  /// Returns the title, the details, and what the user should do.
  private static func text(_ row: RefusalRow, _ detail: String?, _ reason: String) -> ArraySlice<UInt8> {
    var text = ByteBuffer()
    text.append("bearerd: ")
    text.append(row.title)
    text.append(reason.isEmpty ? " (" : " (\(reason), ")
    text.append("bearerctl errors ")
    text.append(row.code)
    text.append("). ")
    if let detail, !detail.isEmpty {
      text.append(detail)
      text.append(" ")
    }
    text.append(row.todo)
    let bytes = text.contents
    guard bytes.count > maximumText else { return bytes }
    var end = bytes.startIndex + maximumText
    // Not within a character of several bytes.
    while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return bytes[..<end]
  }

  /// Appends the text with percent escapes for `%` and for all bytes that are not printable ASCII ("gRPC over HTTP2", Responses).
  static func writeEncoded(_ text: ArraySlice<UInt8>, to output: inout ByteBuffer) {
    for byte in text {
      if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        output.append(byte)
      } else {
        output.append(UInt8(ascii: "%"))
        output.append(digit(byte >> 4), digit(byte & 15))
      }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x37 &+ value }
}

extension Exchange {
  /// Writes the response to a refused gRPC call to `output.response`.
  mutating func refuseCall(_ refusal: Refusal, output: inout Output) {
    GRPCProblem.write(refusal, detail: message(of: refusal), reason: callReason(refusal), to: &output.response)
    record.callStatus = refusal.row.grpc.rawValue
    record.bytesDown = 0
  }

  /// Whether the response has begun, and can end with a status of bearerd.
  var canEndWithStatus: Bool {
    isGRPC && passage.phase == .body && response.status == 200 && bodyLength == .chunked
      && GRPCCall.hasContentType(response.fields, of: response.bytes.span)
  }

  /// Writes the status of a gRPC call whose response has begun to `output.trailers`. Returns `false` if the response is not a
  /// response of gRPC.
  mutating func endCall(_ refusal: Refusal, output: inout Output) -> Bool {
    guard canEndWithStatus else { return false }
    output.trailers.removeAll()
    GRPCProblem.writeStatus(
      refusal, detail: message(of: refusal), reason: callReason(refusal), to: &output.trailers)
    record.callStatus = refusal.row.grpc.rawValue
    passage.phase = .done
    return true
  }

  /// The details of a refusal, in the words of the members in an error response's body.
  private func callReason(_ refusal: Refusal) -> String {
    if case .malformed(let reason) = refusal { return "reason \(reason.rawValue)" }
    if case .tokenUnavailable(_, let reason) = refusal { return "reason \(reason.rawValue)" }
    if case .rateLimited(let excess) = refusal { return "rate \(excess.rate.description)" }
    if let timeout = record.timeout { return "key \(timeout.rawValue)" }
    if let limit = record.fault.limit { return "key \(limit.key.rawValue)" }
    return ""
  }
}
