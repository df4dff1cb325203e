package import HTTP1
internal import Policy
internal import Primitives

/// Reads the fields of a gRPC request ("gRPC over HTTP2").
package enum GRPCCall {
  /// Whether the request is a gRPC call: its content type is `application/grpc`, also with a suffix such as `+proto`.
  /// gRPC-Web is a different protocol, which sends its status in the body.
  package static func isCall(_ head: RequestHead) -> Bool {
    head.method == .post && hasContentType(head.fields, of: head.bytes.span)
  }

  /// Whether `Content-Type` is the one of gRPC's messages.
  static func hasContentType(_ fields: [Field], of bytes: Span<UInt8>) -> Bool {
    for field in fields where FieldName.matches(field.name, of: bytes, "content-type") {
      let value = field.value
      let end = value.lowerBound &+ 16
      // `FieldName.matches` compares tokens, and a slash is none.
      guard value.count >= 16, FieldName.matches(value.lowerBound..<(end &- 5), of: bytes, "application"),
        bytes[end &- 5] == UInt8(ascii: "/"), FieldName.matches((end &- 4)..<end, of: bytes, "grpc")
      else { return false }
      return end == value.upperBound || bytes[end] == UInt8(ascii: "+") || bytes[end] == UInt8(ascii: ";")
        || bytes[end] == UInt8(ascii: " ")
    }
    return false
  }

  /// Returns the value of `grpc-timeout` in milliseconds, rounded up. `nil` if there is none, or if it is malformed or repeated.
  package static func timeout(_ head: RequestHead) -> UInt64? {
    let bytes = head.bytes.span
    var found: UInt64?
    var isRepeated = false
    for field in head.fields where FieldName.matches(field.name, of: bytes, "grpc-timeout") {
      if isRepeated { return nil }
      isRepeated = true
      found = milliseconds(bytes.extracting(field.value))
    }
    return found
  }

  /// Parses one to eight digits and a unit.
  private static func milliseconds(_ value: Span<UInt8>) -> UInt64? {
    guard (2...9).contains(value.count) else { return nil }
    var number: UInt64 = 0
    for index in 0..<(value.count - 1) {
      guard case let digit = value[index] &- 0x30, digit < 10 else { return nil }
      number = number * 10 + UInt64(digit)
    }
    return switch value[value.count - 1] {
    case UInt8(ascii: "H"): number * 3_600_000
    case UInt8(ascii: "M"): number * 60_000
    case UInt8(ascii: "S"): number * 1_000
    case UInt8(ascii: "m"): number
    case UInt8(ascii: "u"): (number + 999) / 1_000
    case UInt8(ascii: "n"): (number + 999_999) / 1_000_000
    default: nil
    }
  }

  /// Returns the value of `grpc-status` in the head of a response, or in its trailers. `nil` if there is none, or if it is no
  /// number of one or two digits.
  static func status(_ fields: [Field], of bytes: Span<UInt8>) -> Int? {
    for field in fields where FieldName.matches(field.name, of: bytes, "grpc-status") {
      guard (1...2).contains(field.value.count) else { return nil }
      var number = 0
      for index in field.value {
        guard case let digit = bytes[index] &- 0x30, digit < 10 else { return nil }
        number = number * 10 + Int(digit)
      }
      return number
    }
    return nil
  }

  /// How much longer than `grpc-timeout` a call may take, in milliseconds. The server normally ends the call itself, and its status
  /// says more than bearerd's.
  package static var allowance: UInt64 { 1_000 }
}

extension Exchange {
  /// Records whether the request is a gRPC call. Call this for requests over HTTP/2, after `headEnded`.
  mutating func recognizeGRPC() { isGRPC = GRPCCall.isCall(head) }

  /// Whether the gRPC call has the status `UNAUTHENTICATED`, which means the same as 401.
  var isCallRejected: Bool {
    isGRPC && response.status == 200 && record.callStatus == GRPCStatus.unauthenticated.rawValue
  }

  /// The verdict on the credential of a gRPC call. The HTTP status of the response is 200 also for an error.
  var callVerdict: CredentialVerdict? {
    switch record.callStatus {
    case nil, 0: .accepted
    case GRPCStatus.unauthenticated.rawValue: .rejected
    case GRPCStatus.permissionDenied.rawValue: .forbidden
    default: nil
    }
  }

  /// Receives the first bytes of messages. Servers look at the credential before they send any.
  @inline(never)
  mutating func receiveMessage(output: inout Output) {
    passage.awaitsMessage = false
    (output.results.verdict, output.results.isVerdictPreliminary) = (.accepted, true)
    output.actions.insert(.judgeCredential)
  }

  /// Receives the end of a gRPC call's response. Returns a refusal if the client gets another status than the upstream's, because
  /// the upstream rejects the credential.
  @inline(never)
  mutating func receiveCallStatus(in trailers: Trailers?, output: inout Output) -> Refusal? {
    if let trailers, let status = GRPCCall.status(trailers.fields, of: trailers.bytes.span) {
      record.callStatus = status
    }
    guard passage.awaitsCallStatus else { return nil }
    (output.results.verdict, output.results.isVerdictPreliminary) = (callVerdict, false)
    output.actions.insert(.judgeCredential)
    guard isCallRejected else { return nil }
    record.isRejected = true
    if isExpiryWithoutRetry { output.actions.insert(.replaceCredential) }
    guard let route, let snapshot, snapshot.options(of: route).onRejected == .status502, canEndWithStatus else {
      return nil
    }
    return .plain(.credentialRejected)
  }

  /// The time in milliseconds after which bearerd ends the gRPC call. `nil` if the request is no gRPC call, or if its client has set no
  /// deadline.
  package var callTimeout: UInt64? {
    mutating get { isGRPC ? GRPCCall.timeout(head).map { $0 + GRPCCall.allowance } : nil }
  }
}
