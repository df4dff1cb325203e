internal import ArgumentParser
internal import OAuth

/// A value of `oauth2.grant`.
enum GrantChoice: String, CaseIterable, ExpressibleByArgument {
  case authorizationCode = "authorization_code"
  case deviceCode = "device_code"
  case clientCredentials = "client_credentials"
  case refreshToken = "refresh_token"
  case jwtBearer = "jwt_bearer"
  case tokenExchange = "token_exchange"
  case password

  /// The name of the grant in requests and metadata.
  var type: String {
    switch self {
    case .authorizationCode, .clientCredentials, .refreshToken, .password: rawValue
    case .deviceCode: "urn:ietf:params:oauth:grant-type:device_code"
    case .jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer"
    case .tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange"
    }
  }

  /// The endpoint at which a login begins; `nil` for a grant without a login.
  var loginEndpoint: ServerMetadata.EndpointName? {
    switch self {
    case .authorizationCode: .authorization
    case .deviceCode: .deviceAuthorization
    case .clientCredentials, .refreshToken, .jwtBearer, .tokenExchange, .password: nil
    }
  }

  /// Whether a server offers the grant. Without a list, it offers `authorization_code` (RFC 8414 section 2).
  func isOffered(by metadata: ServerMetadata) -> Bool {
    if let endpoint = loginEndpoint, metadata.endpoints[endpoint] == nil { return false }
    guard let types = metadata.grantTypes else { return self == .authorizationCode || self == .deviceCode }
    return types.contains(type)
  }

  /// The first of the grants that a server offers, in the order of the cases, without `password`.
  static func offered(by metadata: ServerMetadata) -> [GrantChoice] {
    allCases.filter { $0 != .password && $0.isOffered(by: metadata) }
  }
}

/// A value of `oauth2.client_auth`.
enum ClientAuthChoice: String, CaseIterable, ExpressibleByArgument {
  case basic
  case post
  case none
  case privateKeyJWT = "private_key_jwt"
  case tlsClientAuth = "tls_client_auth"
  case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

  /// The name of the method in metadata (RFC 8414 section 2).
  var method: String {
    switch self {
    case .basic: "client_secret_basic"
    case .post: "client_secret_post"
    case .none, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth: rawValue
    }
  }

  var needsSecret: Bool { self == .basic || self == .post }

  init?(method: String) {
    guard let choice = Self.allCases.first(where: { $0.method == method }) else { return nil }
    self = choice
  }

  /// The methods that a server accepts and that fit a grant. Without a list, it accepts `basic` (RFC 8414 section 2).
  static func accepted(by metadata: ServerMetadata, for grant: GrantChoice) -> [ClientAuthChoice] {
    let methods = metadata.clientAuthentications ?? ["client_secret_basic"]
    // RFC 6749 section 4.4: `client_credentials` needs an authenticated client.
    return allCases.filter { methods.contains($0.method) && !($0 == .none && grant == .clientCredentials) }
  }
}
