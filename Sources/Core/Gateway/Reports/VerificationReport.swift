package import Policy
internal import Primitives

/// The report of a failed verification (RFC 7469 section 3), with three further members: `service`, `address` and
/// `verdict`.
package enum VerificationReport {
  /// Returns the report as JSON.
  /// - Parameter now: seconds since 1970.
  package static func json(_ failure: VerificationFailure, at now: Int64) -> [UInt8] {
    let (origin, pinning) = (failure.upstream.origin, failure.pinning)
    var json = JSONWriter()
    json.object { json in
      json.member("date-time", CivilTime.time(of: now))
      json.member("hostname", origin.host.description)
      json.member("port", UInt64(origin.port))
      let pinsEnd = pinning.pins.isEmpty ? nil : pinning.expires
      if let end = pinsEnd ?? failure.leafEnds { json.member("effective-expiration-date", CivilTime.time(of: end)) }
      json.member("include-subdomains", pinning.includesSubdomains)
      json.member("noted-hostname", pinning.policy ?? origin.host.description)
      json.array("served-certificate-chain") { json in
        for certificate in failure.served { json.member(nil, pem(certificate)) }
      }
      json.array("validated-certificate-chain") { json in
        for certificate in failure.validated { json.member(nil, pem(certificate)) }
      }
      json.array("known-pins") { json in
        for pin in pinning.pins { json.member(nil, "pin-sha256=\"\(Base64.encode(pin.digest))\"") }
      }
      json.member("service", failure.service)
      json.member("address", failure.address)
      json.member("verdict", failure.verdict.row.code.description)
    }
    return json.bytes
  }

  /// Returns the request that sends the report.
  package static func request(_ failure: VerificationFailure, to url: Endpoint, at now: Int64) -> [UInt8] {
    let body = json(failure, at: now)
    let lines = [
      " HTTP/1.1", "Host: \(url.origin.authority)", "User-Agent: bearerd", "Content-Type: application/json",
      "Content-Length: \(body.count)", "Connection: close", "", "",
    ]
    return Array("POST ".utf8) + url.target + Array(lines.joined(separator: "\r\n").utf8) + body
  }

  private static func pem(_ certificate: [UInt8]) -> String {
    let text = Array(Base64.encode(certificate).utf8)
    var pem = "-----BEGIN CERTIFICATE-----\n"
    for start in stride(from: 0, to: text.count, by: 64) {
      pem += String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self) + "\n"
    }
    return pem + "-----END CERTIFICATE-----\n"
  }
}

/// Reads the status of the response to a report.
package struct ReportResponse: Sendable {
  package enum Outcome: Sendable, Equatable {
    case needsMore, accepted
    /// Why the server did not accept the report, for the log.
    case refused(String)
  }

  private var bytes: [UInt8] = []

  /// Maximum size of the head and of the interim responses before it, in bytes.
  private static let limit = 4_096

  package init() {}

  package mutating func receive(_ input: Span<UInt8>) -> Outcome {
    for index in 0..<min(input.count, Self.limit &- bytes.count) { bytes.append(input[index]) }
    while true {
      guard bytes.count >= 12 else { return .needsMore }
      guard let status = Self.status(bytes) else { return .refused("its response is not HTTP/1.1") }
      if (200...299).contains(status) { return .accepted }
      guard (100...199).contains(status), status != 101 else { return .refused("it responded with status \(status)") }
      guard let end = Self.headEnd(bytes) else {
        return bytes.count < Self.limit ? .needsMore : .refused("its response is too long")
      }
      bytes.removeFirst(end)
    }
  }

  private static func status(_ bytes: [UInt8]) -> Int? {
    guard bytes.starts(with: "HTTP/1.".utf8), bytes[8] == 0x20 else { return nil }
    return Int(String(decoding: bytes[9..<12], as: UTF8.self)).flatMap { (100...599).contains($0) ? $0 : nil }
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    let end = Array("\r\n\r\n".utf8)
    return bytes.indices.first { bytes[$0...].starts(with: end) }.map { $0 + end.count }
  }
}
