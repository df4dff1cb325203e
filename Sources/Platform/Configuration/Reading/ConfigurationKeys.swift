/// The keys of one kind of mapping. The file `config/bearerd.schema.json` has the same lists; a test compares them.
package protocol ConfigurationKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// What such a mapping is called in a message.
  static var kind: String { get }
}

package enum TopKey: String, ConfigurationKey {
  package static let kind = "the file"
  case listeners, credentials, services, limits, timeouts
  case requireLockedMemory = "require_locked_memory"
  case control, metrics, audit, workers
}

package enum AuditKey: String, ConfigurationKey {
  package static let kind = "\"audit\""
  case file, required
}

package enum ListenerKey: String, ConfigurationKey {
  package static let kind = "a listener"
  case address
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case clients, hosts, browsers, mode
}

package enum BrowsersKey: String, ConfigurationKey {
  package static let kind = "\"browsers\""
  case origins
}

package enum CredentialKey: String, ConfigurationKey {
  package static let kind = "a credential"
  case origins, bearer, basic, headers, oauth2, login
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case allowClients = "allow_clients"
  case suspend
  case digest, registry
  case clientCertificate = "client_certificate"
  case query, oauth1, mode
  case replayBuffer = "replay_buffer"
}

package enum SuspendKey: String, ConfigurationKey {
  package static let kind = "\"suspend\""
  case after
  case time = "for"
}

package enum SourceKey: String, ConfigurationKey {
  package static let kind = "the source of a secret"
  case file, systemd, env, command
  // Of a command.
  case ttl, timeout, format
  // Of its format.
  case url, username, store, server
}

package enum BasicKey: String, ConfigurationKey {
  package static let kind = "\"basic\""
  case user, password
}

package enum DigestKey: String, ConfigurationKey {
  package static let kind = "\"digest\""
  case user, password, algorithms
  case replayBuffer = "replay_buffer"
}

package enum RegistryKey: String, ConfigurationKey {
  package static let kind = "\"registry\""
  case realm, user, password, timeout, pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case allowAddresses = "allow_addresses"
  case replayBuffer = "replay_buffer"
}

package enum HeaderKey: String, ConfigurationKey {
  package static let kind = "a header of a credential"
  case name, prefix, value
}

package enum OAuth2Key: String, ConfigurationKey {
  package static let kind = "\"oauth2\""
  case tokenURL = "token_url"
  case revocationURL = "revocation_url"
  case grant
  case clientID = "client_id"
  case clientSecret = "client_secret"
  case clientAuth = "client_auth"
  case privateKey = "private_key"
  case keyID = "key_id"
  case issuer, subject, claims
  case assertionAudience = "assertion_audience"
  case scope, resource, audience, parameters
  case refreshToken = "refresh_token"
  case subjectToken = "subject_token"
  case subjectTokenType = "subject_token_type"
  case requestedTokenType = "requested_token_type"
  case actorToken = "actor_token"
  case actorTokenType = "actor_token_type"
  case user, password, store, pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case allowAddresses = "allow_addresses"
  case renewAhead = "renew_ahead"
  case skew, timeout
  case replayBuffer = "replay_buffer"
  // Of a login.
  case deviceAuthorizationURL = "device_authorization_url"
  case authorizationURL = "authorization_url"
  case redirectURI = "redirect_uri"
  case loginTimeout = "login_timeout"
  case refreshOn = "refresh_on"
}

package enum ServiceKey: String, ConfigurationKey {
  package static let kind = "a service"
  case at, listener, upstream, credential, rules, pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case allowAddresses = "allow_addresses"
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case allowClients = "allow_clients"
  case setHeaders = "set_headers"
  case removeHeaders = "remove_headers"
  case removeParameters = "remove_parameters"
  case allowClientHeaders = "allow_client_headers"
  case onClientHeader = "on_client_header"
  case cookies, via
  case onRejected = "on_rejected"
  case redact, rate
  case upgrades, timeouts
  case dedicatedConnections = "dedicated_connections"
  case reuseAfterBody = "reuse_after_body"
}

package enum RuleKey: String, ConfigurationKey {
  package static let kind = "a rule"
  case match, methods, credential, deny, description, rate
  case letterCase = "case"
  case setHeaders = "set_headers"
  case removeHeaders = "remove_headers"
  case removeParameters = "remove_parameters"
  case allowClientHeaders = "allow_client_headers"
  case onClientHeader = "on_client_header"
}

package enum TimeoutKey: String, ConfigurationKey {
  package static let kind = "\"timeouts\""
  case connect, handshake
  case responseHead = "response_head"
  case bodySilence = "body_silence"
  case upgraded, total
}

package enum LimitKey: String, ConfigurationKey {
  package static let kind = "\"limits\""
  case head, fields, target, connections
  case connectionsPerUser = "connections_per_user"
  case requestsPerUser = "requests_per_user"
  case idlePerIdentity = "idle_per_identity"
  case clientHead = "client_head"
  case clientIdle = "client_idle"
  case clientBodyRate = "client_body_rate"
  case upstreamIdle = "upstream_idle"
  case drain
  case revokedGrace = "revoked_grace"
}

/// All words of the schema together, for suggestions and for showing broken lines safely.
enum SchemaWords {
  /// What other programs call it, in small letters and without hyphens.
  private static let others: [String: [String]] = [
    "cors": ["browsers"], "path": ["file", "match", "at"], "ratelimit": ["rate"], "ratelimits": ["rate"],
    "ratelimiting": ["rate"], "throttle": ["rate"], "oauth": ["oauth2"], "tokenendpoint": ["token_url"],
    "revocationendpoint": ["revocation_url"], "revokeurl": ["revocation_url"],
    "scopes": ["scope"], "granttype": ["grant"],
    "deviceauthorizationendpoint": ["device_authorization_url"], "authorizationendpoint": ["authorization_url"],
    "authurl": ["authorization_url"], "authorizeurl": ["authorization_url"], "redirecturl": ["redirect_uri"],
  ]

  /// The words of the schema that somebody may mean by another program's.
  static func ofOthers(_ word: String) -> [String] {
    others[ASCII.lowercased(word.filter { $0 != "_" && $0 != "-" })] ?? []
  }

  /// Which kinds of mapping have a key of this name.
  static func kinds(with key: String) -> [String] {
    tables.filter { $0.keys.contains(key) }.map(\.kind)
  }

  static let all: Set<String> = Set(tables.flatMap(\.keys))

  static let sorted: [String] = all.sorted()

  private static let tables: [(kind: String, keys: [String])] = [
    table(TopKey.self), table(AuditKey.self), table(ListenerKey.self), table(BrowsersKey.self),
    table(CredentialKey.self),
    table(SourceKey.self), table(BasicKey.self), table(HeaderKey.self), table(OAuth2Key.self), table(LoginKey.self),
    table(LoginHeaderKey.self), table(RefreshOnKey.self), table(SuspendKey.self),
    table(DigestKey.self), table(RegistryKey.self),
    table(ServiceKey.self),
    table(RuleKey.self), table(TimeoutKey.self), table(LimitKey.self), table(ClientCertificateKey.self),
    table(QueryKey.self), table(OAuth1Key.self),
  ]

  private static func table<Key: ConfigurationKey>(_: Key.Type) -> (kind: String, keys: [String]) {
    (Key.kind, Key.allCases.map(\.rawValue))
  }

  /// Indices of the scalars that belong to a word of the schema, where it stands as a key.
  static func columns(of line: [Unicode.Scalar]) -> Set<Int> {
    var columns: Set<Int> = []
    if line == ["-", "-", "-"] { columns.formUnion(line.indices) }
    var start = 0
    for end in 0...line.count where end == line.count || !isWordCharacter(line[end]) {
      let word = String(String.UnicodeScalarView(line[start..<end]))
      if all.contains(word), end < line.count, line[end] == ":" { columns.formUnion(start..<end) }
      start = end + 1
    }
    return columns
  }

  /// Everything but what gives YAML its shape.
  static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool { !" \t:,[]{}\"'".unicodeScalars.contains(scalar) }

  /// Whether an unknown key may be repeated: it looks like one, and something stands behind it. `bearer:s3cret` and
  /// `{ s3cret }` are keys as well, to YAML.
  static func isPresentable(_ entry: YAMLEntry) -> Bool {
    !entry.value.isAbsent && entry.name.utf8.count <= 32
      && entry.name.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D }
  }
}
