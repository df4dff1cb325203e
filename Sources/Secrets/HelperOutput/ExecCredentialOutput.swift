internal import JSON
internal import Primitives
@_spi(SecretBytes) internal import Secrets

/// Reads the output of Kubernetes credential plugins, an `ExecCredential` object.
extension HelperOutputReader {
  func execCredential(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let document = try json(output)
    let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
    guard document.withText("apiVersion", body: { isOneOf($0, versions) }) ?? false else {
      throw SecretProblem("\(name) is not an ExecCredential of \(versions[0]) or v1beta1 (apiVersion)")
    }
    guard document.withText("kind", body: { isOneOf($0, ["ExecCredential"]) }) ?? false else {
      throw SecretProblem("\(name) is not an ExecCredential (kind)")
    }
    guard document.kind("status") == .object else { throw SecretProblem("\(name) has no status, and so no token") }
    for key in ["clientCertificateData", "clientKeyData"] {
      switch document.kind("status", key) {
      case .absent, .null: break
      case .boolean, .number, .string, .array, .object:
        throw SecretProblem("\(name) has a client certificate (\(key)), which is not supported yet")
      }
    }
    return SourceValue(secret: try text("status", "token", of: document), expiry: try expiry(document))
  }

  /// Returns the expiry in seconds since 1970; `nil` if the output has none.
  private func expiry(_ document: borrowing JSONDocument) throws(SecretProblem) -> Int64? {
    switch document.kind("status", "expirationTimestamp") {
    case .absent, .null: return nil
    case .string, .boolean, .number, .array, .object: break
    }
    let seconds = document.withText("status", "expirationTimestamp") { text -> Int64? in
      // Shorter texts have no time of day: a date has 10 bytes
      guard (20...64).contains(text.count), text.allSatisfy({ $0 < 0x80 }) else { return nil }
      return CivilTime.seconds(parsing: String(decoding: text, as: UTF8.self))
    }
    guard let seconds, let seconds else {
      throw SecretProblem("\(name) has an expirationTimestamp that is not an RFC 3339 time")
    }
    return seconds
  }

  func json(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> JSONDocument {
    do throws(JSONDocument.Problem) { return try JSONDocument(output) } catch {
      switch error {
      case .tooLarge: throw SecretProblem("\(name) is more than 64 KiB")
      case .tooDeep, .malformed:
        throw SecretProblem("\(name) is not a valid JSON object, or is ambiguous")
      }
    }
  }

  /// Returns the string at a path, or throws if it is missing or empty.
  func text(_ path: String..., of document: borrowing JSONDocument) throws(SecretProblem) -> Secret {
    let what = path.joined(separator: ".")
    let found = try document.withText(at: path) { (text) throws(SecretProblem) in try secret(text, what) }
    guard let found else { throw SecretProblem("\(name) has no \(what)") }
    return found
  }
}
