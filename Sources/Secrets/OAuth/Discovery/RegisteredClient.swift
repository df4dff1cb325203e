internal import JSON
@_spi(SecretBytes) package import Secrets
package import System

/// The response to a client registration (RFC 7591 section 3.2.1).
package struct RegisteredClient: ~Copyable {
  package enum Problem: Error {
    /// The response is not a JSON object with a usable `client_id`.
    case malformed
    case noMemory
  }

  /// The secrets in a response.
  package enum SecretName: String, CaseIterable {
    case client = "client_secret"
    case registrationToken = "registration_access_token"
  }

  /// Printable ASCII without quotes, backslashes and spaces.
  package let id: String
  /// How the client authenticates, if the response says so: a value of `token_endpoint_auth_method`.
  package let authentication: String?
  /// Seconds since 1970; `nil` if the secret does not expire.
  package let secretExpiry: Int64?
  /// The URL at which the registration can be changed (RFC 7592). `nil` if there is no usable https URL.
  package let managementURL: String?
  private let clientSecret: Secret?
  private let registrationToken: Secret?

  /// - Parameter body: The caller wipes it.
  package init(_ body: Span<UInt8>, in arena: SecretArena) throws(Problem) {
    self = try body.withUnsafeBytes { (bytes) throws(Problem) in try Self.read(bytes, in: arena) }
  }

  private init(
    _ document: borrowing JSONDocument, id: String, clientSecret: consuming Secret?,
    registrationToken: consuming Secret?
  ) {
    self.id = id
    authentication = ServerMetadata.text(document, ["token_endpoint_auth_method"])
    let expiry = document.number("client_secret_expires_at") ?? 0
    secretExpiry = expiry > 0 && expiry < 1e12 ? Int64(expiry) : nil
    let url = ServerMetadata.text(document, ["registration_client_uri"], longest: 2_048)
    managementURL = url.flatMap { $0.hasPrefix("https://") ? $0 : nil }
    self.clientSecret = clientSecret
    self.registrationToken = registrationToken
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, in arena: SecretArena) throws(Problem) -> RegisteredClient {
    let document: JSONDocument
    do throws(JSONDocument.Problem) { document = try JSONDocument(bytes) } catch { throw .malformed }
    guard let id = ServerMetadata.text(document, ["client_id"], longest: 2_048) else { throw .malformed }
    do throws(SystemError) {
      let clientSecret = try secret(.client, document, in: arena)
      let registrationToken = try secret(.registrationToken, document, in: arena)
      return RegisteredClient(document, id: id, clientSecret: clientSecret, registrationToken: registrationToken)
    } catch {
      throw .noMemory
    }
  }

  private static func secret(
    _ name: SecretName, _ document: borrowing JSONDocument, in arena: SecretArena
  ) throws(SystemError) -> Secret? {
    try document.withText(at: [name.rawValue]) { (bytes) throws(SystemError) -> Secret? in
      bytes.isEmpty ? nil : try Secret.copy(of: bytes, in: arena)
    } ?? nil
  }

  package borrowing func has(_ name: SecretName) -> Bool {
    switch name {
    case .client: clientSecret != nil
    case .registrationToken: registrationToken != nil
    }
  }

  /// Writes a secret to a new file. Throws EEXIST if the name is taken. Does nothing without this secret.
  /// - Parameter path: absolute.
  package borrowing func store(_ name: SecretName, at path: String, mode: UInt32, group: UInt32?) throws(SystemError) {
    switch name {
    case .client: try Self.store(clientSecret, path, mode, group)
    case .registrationToken: try Self.store(registrationToken, path, mode, group)
    }
  }

  private static func store(
    _ secret: borrowing Secret?, _ path: String, _ mode: UInt32, _ group: UInt32?
  ) throws(SystemError) {
    switch secret {
    case .none: return
    case .some(let secret):
      try secret.withBytes { (bytes) throws(SystemError) in
        try NewFile.create(path, bytes, mode: mode, group: group)
      }
    }
  }

  /// Returns the error code of a refused registration, if it is a registered code (RFC 7591 section 3.2.2, RFC 6750
  /// section 3.1). Other texts of the response could repeat the initial access token.
  package static func errorCode(_ body: Span<UInt8>) -> String? {
    body.withUnsafeBytes { bytes -> String? in
      guard let document = try? JSONDocument(bytes), let code = ServerMetadata.text(document, ["error"]) else {
        return nil
      }
      return errorCodes.contains(code) ? code : nil
    }
  }

  private static let errorCodes: Set<String> = [
    "invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement",
    "invalid_request", "invalid_token", "insufficient_scope", "access_denied",
  ]
}
