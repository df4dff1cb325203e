package import Policy
@_spi(SecretBytes) package import Secrets
internal import System

/// The requests with which `bearerctl` sets up a client.
extension TokenRequest {
  /// Creates a request for the metadata of a server (RFC 8414 section 3.1).
  package static func metadata(at location: Endpoint, in arena: SecretArena) throws(SecretProblem) -> TokenRequest {
    do throws(SystemError) {
      var bytes = try Secret(capacity: 512, in: arena)
      try bytes.append(head("GET", location))
      try bytes.append("\r\n")
      return TokenRequest(endpoint: location, trust: TrustPolicy(), bytes: bytes)
    } catch {
      throw .noMemory
    }
  }

  /// Creates a request to register a client (RFC 7591 section 3.1).
  /// - Parameter metadata: the client metadata as JSON.
  package static func registration(
    at endpoint: Endpoint, _ metadata: [UInt8], in arena: SecretArena
  ) throws(SecretProblem) -> TokenRequest {
    do throws(SystemError) {
      return try registration(endpoint, metadata, token: Secret(capacity: 0, in: arena), in: arena)
    } catch {
      throw .noMemory
    }
  }

  /// Creates a request to register a client with an initial access token (RFC 7591 section 3).
  package static func registration(
    at endpoint: Endpoint, _ metadata: [UInt8], token: borrowing IncomingSecret, in arena: SecretArena
  ) throws(SecretProblem) -> TokenRequest {
    let isPlain = token.withBytes { $0.allSatisfy { (0x21...0x7E).contains($0) } }
    guard isPlain else {
      throw SecretProblem("the initial access token has a space or another character that is not allowed in a token")
    }
    do throws(SystemError) {
      let copy = try token.withBytes { (bytes) throws(SystemError) in try Secret.copy(of: bytes, in: arena) }
      return try registration(endpoint, metadata, token: copy, in: arena)
    } catch {
      throw .noMemory
    }
  }

  private static func registration(
    _ endpoint: Endpoint, _ metadata: [UInt8], token: borrowing Secret, in arena: SecretArena
  ) throws(SystemError) -> TokenRequest {
    var bytes = try Secret(capacity: metadata.count + token.count + 1_024, in: arena)
    try bytes.append(head("POST", endpoint))
    if token.count > 0 {
      try bytes.append("Authorization: Bearer ")
      try token.withBytes { (token) throws(SystemError) in try bytes.append(token) }
      try bytes.append("\r\n")
    }
    try bytes.append("Content-Type: application/json\r\nContent-Length: \(metadata.count)\r\n\r\n")
    try bytes.append(String(decoding: metadata, as: UTF8.self))
    return TokenRequest(endpoint: endpoint, trust: TrustPolicy(), bytes: bytes)
  }

  private static func head(_ method: String, _ endpoint: Endpoint) -> String {
    "\(method) \(String(decoding: endpoint.target, as: UTF8.self)) HTTP/1.1\r\nHost: \(endpoint.origin.authority)\r\n"
      + "Accept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: bearerctl\r\nConnection: close\r\n"
  }
}
