internal import JSON
package import Policy

/// The metadata of an authorization server (RFC 8414 section 2). All texts are printable ASCII without quotes,
/// backslashes and spaces.
package struct ServerMetadata: Sendable {
  package enum Problem: Error, Equatable {
    case notJSON
    /// The document has another issuer than the expected one (RFC 8414 section 3.3). `nil` if it has no usable issuer.
    case otherIssuer(String?)
  }

  /// The endpoints that bearerd uses, with their names in the document.
  package enum EndpointName: String, Sendable, CaseIterable {
    case token = "token_endpoint"
    case authorization = "authorization_endpoint"
    case deviceAuthorization = "device_authorization_endpoint"
    case revocation = "revocation_endpoint"
    case registration = "registration_endpoint"
  }

  package let issuer: String
  package private(set) var endpoints: [EndpointName: Endpoint] = [:]
  /// Endpoints in the document whose URLs bearerd cannot use, such as http URLs or URLs with a query.
  package private(set) var unusableEndpoints: [EndpointName] = []
  /// `nil` if the document does not have the list.
  package let grantTypes: [String]?
  package let clientAuthentications: [String]?
  package let codeChallengeMethods: [String]?
  package let scopes: [String]?
  /// Whether responses to logins contain the issuer (RFC 9207 section 3).
  package let sendsIssuer: Bool

  /// Maximum number of texts in a list, and maximum length of each. Further texts are ignored.
  private static let (longestList, longestText) = (256, 256)

  /// Parses a document, and compares its issuer with the expected issuer.
  package init(_ body: Span<UInt8>, of expected: Issuer) throws(Problem) {
    let parsed: Result<ServerMetadata, Problem> = body.withUnsafeBytes { bytes in
      do throws(JSONDocument.Problem) {
        let document = try JSONDocument(bytes)
        let issuer = Self.text(document, ["issuer"])
        guard let issuer, issuer == expected.text else { return .failure(.otherIssuer(issuer)) }
        return .success(ServerMetadata(document, issuer: issuer))
      } catch {
        return .failure(.notJSON)
      }
    }
    self = try parsed.get()
  }

  private init(_ document: borrowing JSONDocument, issuer: String) {
    self.issuer = issuer
    grantTypes = Self.list(document, "grant_types_supported")
    clientAuthentications = Self.list(document, "token_endpoint_auth_methods_supported")
    codeChallengeMethods = Self.list(document, "code_challenge_methods_supported")
    scopes = Self.list(document, "scopes_supported")
    sendsIssuer = document.flag("authorization_response_iss_parameter_supported") ?? false
    for name in EndpointName.allCases where document.kind(name.rawValue) != .absent {
      if let text = Self.text(document, [name.rawValue], longest: 2_048), let endpoint = try? Endpoint(parsing: text) {
        endpoints[name] = endpoint
      } else {
        unusableEndpoints.append(name)
      }
    }
  }

  /// Returns the text at a path. `nil` if there is none, or if it has other characters than those above.
  static func text(_ document: borrowing JSONDocument, _ path: [String], longest: Int = longestText) -> String? {
    document.withText(at: path) { bytes -> String? in
      guard (1...longest).contains(bytes.count),
        bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
      else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    } ?? nil
  }

  /// Returns the texts of a list. `nil` if there is no list.
  static func list(_ document: borrowing JSONDocument, _ name: String) -> [String]? {
    guard document.kind(name) == .array else { return nil }
    var texts: [String] = []
    for index in 0..<longestList where document.kind(name, "\(index)") != .absent {
      if let text = text(document, [name, "\(index)"]), !texts.contains(text) { texts.append(text) }
    }
    return texts
  }
}
