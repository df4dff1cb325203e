// Written by make generate from config/keys.toml.
// swift-format-ignore-file

package enum TopKey: String, ConfigurationKey {
  package static let kind = "the file"
  case listeners
  case credentials
  case services
  case include
  case pinPolicies = "pin_policies"
  case limits
  case timeouts
  case requireLockedMemory = "require_locked_memory"
  case control
  case metrics
  case audit
  case reports
  case workers
  package static let workersDefault = 1

  package var bounds: ClosedRange<Int> {
    switch self {
    case .workers: 1...64
    default: 0...0
    }
  }
}

package enum AuditKey: String, ConfigurationKey {
  package static let kind = "\"audit\""
  case file
  case required
}

package enum ReportsKey: String, ConfigurationKey {
  package static let kind = "\"reports\""
  case to
  case caFile = "ca_file"
  case allowAddresses = "allow_addresses"
}

package enum ListenerKey: String, ConfigurationKey {
  package static let kind = "a listener"
  case address
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case clients
  case hosts
  case browsers
  case discovery
  case mode
}

package enum BrowsersKey: String, ConfigurationKey {
  package static let kind = "\"browsers\""
  case origins
}

package enum CredentialKey: String, ConfigurationKey {
  package static let kind = "a credential"
  case origins
  case bearer
  case basic
  case headers
  case oauth2
  case login
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case allowClients = "allow_clients"
  case suspend
  case digest
  case registry
  case clientCertificate = "client_certificate"
  case query
  case oauth1
  case mode
  case replayBuffer = "replay_buffer"
  case realm
  case onChange = "on_change"
  package static let replayBufferDefault = 65_536

  package var bounds: ClosedRange<Int> {
    switch self {
    case .replayBuffer: 0...1_048_576
    default: 0...0
    }
  }
}

package enum SourceKey: String, ConfigurationKey {
  package static let kind = "the source of a secret"
  case file
  case systemd
  case env
  case command
  case ttl
  case timeout
  case format
  case url
  case username
  case store
  case server
  case environment
  case tokenOf = "token_of"
  package static let ttlDefault: UInt64 = 600_000
  package static let timeoutDefault: UInt64 = 10_000

  package var bounds: ClosedRange<Int> {
    switch self {
    case .ttl: 1...604_800_000
    case .timeout: 1...60_000
    default: 0...0
    }
  }
}

package enum EnvironmentKey: String, ConfigurationKey {
  package static let kind = "\"environment\""
  case pass
}

package enum BasicKey: String, ConfigurationKey {
  package static let kind = "\"basic\""
  case user
  case password
}

package enum HeaderKey: String, ConfigurationKey {
  package static let kind = "a header field of a credential"
  case name
  case prefix
  case value
}

package enum OAuth2Key: String, ConfigurationKey {
  package static let kind = "\"oauth2\""
  case tokenURL = "token_url"
  case revocationURL = "revocation_url"
  case grant
  case grantType = "grant_type"
  case clientID = "client_id"
  case clientSecret = "client_secret"
  case clientAuth = "client_auth"
  case privateKey = "private_key"
  case passphrase
  case keyID = "key_id"
  case issuer
  case subject
  case claims
  case assertionAudience = "assertion_audience"
  case scope
  case resource
  case audience
  case parameters
  case headers
  case body
  case refreshToken = "refresh_token"
  case subjectToken = "subject_token"
  case subjectTokenType = "subject_token_type"
  case requestedTokenType = "requested_token_type"
  case actorToken = "actor_token"
  case actorTokenType = "actor_token_type"
  case user
  case password
  case store
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case revocation
  case allowAddresses = "allow_addresses"
  case renewAhead = "renew_ahead"
  case skew
  case timeout
  case replayBuffer = "replay_buffer"
  case deviceAuthorizationURL = "device_authorization_url"
  case authorizationURL = "authorization_url"
  case redirectURI = "redirect_uri"
  case loginTimeout = "login_timeout"
  case refreshOn = "refresh_on"
  case token
  case expiresIn = "expires_in"
  case expiresAt = "expires_at"
  package static let renewAheadDefault: UInt64 = 60_000
  package static let skewDefault: UInt64 = 10_000
  package static let timeoutDefault: UInt64 = 10_000
  package static let replayBufferDefault = 65_536
  package static let loginTimeoutDefault: UInt64 = 300_000

  package var bounds: ClosedRange<Int> {
    switch self {
    case .renewAhead: 0...604_800_000
    case .skew: 0...604_800_000
    case .timeout: 1...60_000
    case .replayBuffer: 0...1_048_576
    case .loginTimeout: 1...3_600_000
    default: 0...0
    }
  }
}

package enum LoginKey: String, ConfigurationKey {
  package static let kind = "\"login\""
  case url
  case form
  case json
  case headers
  case token
  case cookie
  case header
  case expiresIn = "expires_in"
  case lifetime
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case revocation
  case allowAddresses = "allow_addresses"
  case renewAhead = "renew_ahead"
  case skew
  case timeout
  case replayBuffer = "replay_buffer"
  case refreshOn = "refresh_on"
  package static let renewAheadDefault: UInt64 = 60_000
  package static let skewDefault: UInt64 = 10_000
  package static let timeoutDefault: UInt64 = 10_000
  package static let replayBufferDefault = 65_536

  package var bounds: ClosedRange<Int> {
    switch self {
    case .lifetime: 1...604_800_000
    case .renewAhead: 0...604_800_000
    case .skew: 0...604_800_000
    case .timeout: 1...60_000
    case .replayBuffer: 0...1_048_576
    default: 0...0
    }
  }
}

package enum LoginHeaderKey: String, ConfigurationKey {
  package static let kind = "the header field of a login"
  case name
  case prefix
}

package enum RefreshOnKey: String, ConfigurationKey {
  package static let kind = "a response of \"refresh_on\""
  case status
  case field
  case value

  package var bounds: ClosedRange<Int> {
    switch self {
    case .status: 400...499
    default: 0...0
    }
  }
}

package enum SuspendKey: String, ConfigurationKey {
  package static let kind = "\"suspend\""
  case after
  case time = "for"

  package var bounds: ClosedRange<Int> {
    switch self {
    case .after: 1...1_000
    case .time: 1...604_800_000
    }
  }
}

package enum DigestKey: String, ConfigurationKey {
  package static let kind = "\"digest\""
  case user
  case password
  case algorithms
  case replayBuffer = "replay_buffer"
  case realm
  package static let replayBufferDefault = 65_536

  package var bounds: ClosedRange<Int> {
    switch self {
    case .replayBuffer: 0...1_048_576
    default: 0...0
    }
  }
}

package enum RegistryKey: String, ConfigurationKey {
  package static let kind = "\"registry\""
  case realm
  case user
  case password
  case timeout
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case revocation
  case allowAddresses = "allow_addresses"
  case replayBuffer = "replay_buffer"
  package static let timeoutDefault: UInt64 = 10_000
  package static let replayBufferDefault = 65_536

  package var bounds: ClosedRange<Int> {
    switch self {
    case .timeout: 1...60_000
    case .replayBuffer: 0...1_048_576
    default: 0...0
    }
  }
}

package enum QueryKey: String, ConfigurationKey {
  package static let kind = "\"query\""
  case name
  case value
}

package enum OAuth1Key: String, ConfigurationKey {
  package static let kind = "\"oauth1\""
  case consumerKey = "consumer_key"
  case consumerSecret = "consumer_secret"
  case privateKey = "private_key"
  case passphrase
  case token
  case tokenSecret = "token_secret"
  case signature
  case realm
  case requestTokenURL = "request_token_url"
  case authorizeURL = "authorize_url"
  case accessTokenURL = "access_token_url"
  case redirectURI = "redirect_uri"
  case loginTimeout = "login_timeout"
  case store
  case timeout
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case revocation
  case allowAddresses = "allow_addresses"
  package static let loginTimeoutDefault: UInt64 = 300_000
  package static let timeoutDefault: UInt64 = 10_000

  package var bounds: ClosedRange<Int> {
    switch self {
    case .loginTimeout: 1...3_600_000
    case .timeout: 1...60_000
    default: 0...0
    }
  }
}

package enum ClientCertificateKey: String, ConfigurationKey {
  package static let kind = "\"client_certificate\""
  case certificate
  case privateKey = "private_key"
  case passphrase
}

package enum ServiceKey: String, ConfigurationKey {
  package static let kind = "a service"
  case at
  case listener
  case upstream
  case serverName = "server_name"
  case credential
  case rules
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case probe
  case caFile = "ca_file"
  case revocation
  case allowAddresses = "allow_addresses"
  case allowUsers = "allow_users"
  case allowGroups = "allow_groups"
  case allowClients = "allow_clients"
  case setHeaders = "set_headers"
  case removeHeaders = "remove_headers"
  case removeParameters = "remove_parameters"
  case allowClientHeaders = "allow_client_headers"
  case onClientHeader = "on_client_header"
  case cookies
  case via
  case onRejected = "on_rejected"
  case redact
  case responses
  case rate
  case upgrades
  case timeouts
  case retry
  case dedicatedConnections = "dedicated_connections"
  case reuseAfterBody = "reuse_after_body"

  package var bounds: ClosedRange<Int> {
    switch self {
    case .probe: 1...604_800_000
    default: 0...0
    }
  }
}

package enum RetryKey: String, ConfigurationKey {
  package static let kind = "\"retry\""
  case on
  case attempts
  case atMost = "at_most"
  case replayBuffer = "replay_buffer"
  package static let attemptsDefault = 2
  package static let atMostDefault: UInt64 = 10_000
  package static let replayBufferDefault = 65_536

  package var bounds: ClosedRange<Int> {
    switch self {
    case .attempts: 1...10
    case .atMost: 1...300_000
    case .replayBuffer: 0...1_048_576
    default: 0...0
    }
  }
}

package enum RevocationKey: String, ConfigurationKey {
  package static let kind = "\"revocation\""
  case crlFile = "crl_file"
  case stapling
}

package enum PinPolicyKey: String, ConfigurationKey {
  package static let kind = "a pin policy"
  case pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case expires
  case includeSubdomains = "include_subdomains"
  case exclude
}

package enum RuleKey: String, ConfigurationKey {
  package static let kind = "a rule"
  case match
  case methods
  case credential
  case deny
  case description
  case message
  case rate
  case letterCase = "case"
  case setHeaders = "set_headers"
  case removeHeaders = "remove_headers"
  case removeParameters = "remove_parameters"
  case allowClientHeaders = "allow_client_headers"
  case onClientHeader = "on_client_header"
}

package enum TimeoutKey: String, ConfigurationKey {
  package static let kind = "\"timeouts\""
  case connect
  case handshake
  case responseHead = "response_head"
  case bodySilence = "body_silence"
  case upgraded
  case total

  package var bounds: ClosedRange<Int> {
    switch self {
    case .connect: 1...604_800_000
    case .handshake: 1...604_800_000
    case .responseHead: 1...604_800_000
    case .bodySilence: 1...604_800_000
    case .upgraded: 1...604_800_000
    case .total: 1...604_800_000
    }
  }
}

package enum LimitKey: String, ConfigurationKey {
  package static let kind = "\"limits\""
  case head
  case fields
  case target
  case connections
  case connectionsPerUser = "connections_per_user"
  case requestsPerUser = "requests_per_user"
  case idlePerIdentity = "idle_per_identity"
  case clientHead = "client_head"
  case clientIdle = "client_idle"
  case clientBodyRate = "client_body_rate"
  case decodedError = "decoded_error"
  case upstreamIdle = "upstream_idle"
  case tcpKeepalive = "tcp_keepalive"
  case drain
  case revokedGrace = "revoked_grace"

  package var bounds: ClosedRange<Int> {
    switch self {
    case .head: 1_024...1_048_576
    case .fields: 16...4_096
    case .target: 256...1_048_576
    case .connections: 1...1_000_000
    case .connectionsPerUser: 1...1_000_000
    case .requestsPerUser: 1...1_000_000
    case .idlePerIdentity: 0...65_536
    case .clientHead: 1...604_800_000
    case .clientIdle: 1...604_800_000
    case .clientBodyRate: 0...1_048_576
    case .decodedError: 4_096...16_777_216
    case .upstreamIdle: 1...604_800_000
    case .drain: 0...604_800_000
    case .revokedGrace: 0...604_800_000
    default: 0...0
    }
  }
}

package enum KeepaliveKey: String, ConfigurationKey {
  package static let kind = "\"tcp_keepalive\""
  case idle
  case interval
  case probes

  package var bounds: ClosedRange<Int> {
    switch self {
    case .idle: 1...32_400_000
    case .interval: 1...32_400_000
    case .probes: 1...127
    }
  }
}

/// All kinds of mapping, with the names of their keys.
package enum ConfigurationSchema {
  package static let sections: [(kind: String, keys: [String])] = [
    TopKey.section,
    AuditKey.section,
    ReportsKey.section,
    ListenerKey.section,
    BrowsersKey.section,
    CredentialKey.section,
    SourceKey.section,
    EnvironmentKey.section,
    BasicKey.section,
    HeaderKey.section,
    OAuth2Key.section,
    LoginKey.section,
    LoginHeaderKey.section,
    RefreshOnKey.section,
    SuspendKey.section,
    DigestKey.section,
    RegistryKey.section,
    QueryKey.section,
    OAuth1Key.section,
    ClientCertificateKey.section,
    ServiceKey.section,
    RetryKey.section,
    RevocationKey.section,
    PinPolicyKey.section,
    RuleKey.section,
    TimeoutKey.section,
    LimitKey.section,
    KeepaliveKey.section,
  ]
}
