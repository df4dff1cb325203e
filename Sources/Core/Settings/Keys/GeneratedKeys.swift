// Written by make generate from config/keys.toml.
// swift-format-ignore-file

package enum TopKey: String, ConfigurationKey {
  package static let kind = "the file"
  case listeners, credentials, services, include, pinPolicies = "pin_policies", limits, timeouts,
    requireLockedMemory = "require_locked_memory", control, metrics, audit, reports, workers
  package static let workersDefault = 1
  package static let allBounds: [Self: ClosedRange<Int>] = [.workers: 1...64]
}

package enum AuditKey: String, ConfigurationKey {
  package static let kind = "\"audit\""
  case file, required
}

package enum ReportsKey: String, ConfigurationKey {
  package static let kind = "\"reports\""
  case to, caFile = "ca_file", allowAddresses = "allow_addresses"
}

package enum ListenerKey: String, ConfigurationKey {
  package static let kind = "a listener"
  case address, allowUsers = "allow_users", allowGroups = "allow_groups", clients, hosts, browsers, discovery, mode
}

package enum BrowsersKey: String, ConfigurationKey {
  package static let kind = "\"browsers\""
  case origins
}

package enum CredentialKey: String, ConfigurationKey {
  package static let kind = "a credential"
  case origins, bearer, basic, headers, oauth2, login, allowUsers = "allow_users", allowGroups = "allow_groups",
    allowClients = "allow_clients", suspend, digest, registry, clientCertificate = "client_certificate", query, oauth1,
    mode, replayBuffer = "replay_buffer", realm, onChange = "on_change"
  package static let replayBufferDefault = 65_536
  package static let allBounds: [Self: ClosedRange<Int>] = [.replayBuffer: 0...1_048_576]
}

package enum SourceKey: String, ConfigurationKey {
  package static let kind = "the source of a secret"
  case file, systemd, env, command, ttl, timeout, format, url, username, store, server, environment,
    tokenOf = "token_of"
  package static let ttlDefault: UInt64 = 600_000, timeoutDefault: UInt64 = 10_000
  package static let allBounds: [Self: ClosedRange<Int>] = [.ttl: 1...604_800_000, .timeout: 1...60_000]
}

package enum EnvironmentKey: String, ConfigurationKey {
  package static let kind = "\"environment\""
  case pass
}

package enum BasicKey: String, ConfigurationKey {
  package static let kind = "\"basic\""
  case user, password
}

package enum HeaderKey: String, ConfigurationKey {
  package static let kind = "a header field of a credential"
  case name, prefix, value
}

package enum OAuth2Key: String, ConfigurationKey {
  package static let kind = "\"oauth2\""
  case tokenURL = "token_url", revocationURL = "revocation_url", grant, grantType = "grant_type",
    clientID = "client_id", clientSecret = "client_secret", clientAuth = "client_auth", privateKey = "private_key",
    passphrase, keyID = "key_id", issuer, subject, claims, assertionAudience = "assertion_audience", scope, resource,
    audience, parameters, headers, body, refreshToken = "refresh_token", subjectToken = "subject_token",
    subjectTokenType = "subject_token_type", requestedTokenType = "requested_token_type", actorToken = "actor_token",
    actorTokenType = "actor_token_type", user, password, store, pins, backupPin = "backup_pin", pinMode = "pin_mode",
    pinsExpire = "pins_expire", caFile = "ca_file", revocation, allowAddresses = "allow_addresses",
    renewAhead = "renew_ahead", skew, timeout, replayBuffer = "replay_buffer",
    deviceAuthorizationURL = "device_authorization_url", authorizationURL = "authorization_url",
    redirectURI = "redirect_uri", loginTimeout = "login_timeout", refreshOn = "refresh_on", token,
    expiresIn = "expires_in", expiresAt = "expires_at"
  package static let renewAheadDefault: UInt64 = 60_000, skewDefault: UInt64 = 10_000, timeoutDefault: UInt64 = 10_000,
    replayBufferDefault = 65_536, loginTimeoutDefault: UInt64 = 300_000
  package static let allBounds: [Self: ClosedRange<Int>] = [.renewAhead: 0...604_800_000, .skew: 0...604_800_000,
    .timeout: 1...60_000, .replayBuffer: 0...1_048_576, .loginTimeout: 1...3_600_000]
}

package enum LoginKey: String, ConfigurationKey {
  package static let kind = "\"login\""
  case url, form, json, headers, token, cookie, header, expiresIn = "expires_in", lifetime, pins,
    backupPin = "backup_pin", pinMode = "pin_mode", pinsExpire = "pins_expire", caFile = "ca_file", revocation,
    allowAddresses = "allow_addresses", renewAhead = "renew_ahead", skew, timeout, replayBuffer = "replay_buffer",
    refreshOn = "refresh_on"
  package static let renewAheadDefault: UInt64 = 60_000, skewDefault: UInt64 = 10_000, timeoutDefault: UInt64 = 10_000,
    replayBufferDefault = 65_536
  package static let allBounds: [Self: ClosedRange<Int>] = [.lifetime: 1...604_800_000, .renewAhead: 0...604_800_000,
    .skew: 0...604_800_000, .timeout: 1...60_000, .replayBuffer: 0...1_048_576]
}

package enum LoginHeaderKey: String, ConfigurationKey {
  package static let kind = "the header field of a login"
  case name, prefix
}

package enum RefreshOnKey: String, ConfigurationKey {
  package static let kind = "a response of \"refresh_on\""
  case status, field, value
  package static let allBounds: [Self: ClosedRange<Int>] = [.status: 400...499]
}

package enum SuspendKey: String, ConfigurationKey {
  package static let kind = "\"suspend\""
  case after, time = "for"
  package static let allBounds: [Self: ClosedRange<Int>] = [.after: 1...1_000, .time: 1...604_800_000]
}

package enum DigestKey: String, ConfigurationKey {
  package static let kind = "\"digest\""
  case user, password, algorithms, replayBuffer = "replay_buffer", realm
  package static let replayBufferDefault = 65_536
  package static let allBounds: [Self: ClosedRange<Int>] = [.replayBuffer: 0...1_048_576]
}

package enum RegistryKey: String, ConfigurationKey {
  package static let kind = "\"registry\""
  case realm, user, password, timeout, pins, backupPin = "backup_pin", pinMode = "pin_mode", pinsExpire = "pins_expire",
    caFile = "ca_file", revocation, allowAddresses = "allow_addresses", replayBuffer = "replay_buffer"
  package static let timeoutDefault: UInt64 = 10_000, replayBufferDefault = 65_536
  package static let allBounds: [Self: ClosedRange<Int>] = [.timeout: 1...60_000, .replayBuffer: 0...1_048_576]
}

package enum QueryKey: String, ConfigurationKey {
  package static let kind = "\"query\""
  case name, value
}

package enum OAuth1Key: String, ConfigurationKey {
  package static let kind = "\"oauth1\""
  case consumerKey = "consumer_key", consumerSecret = "consumer_secret", privateKey = "private_key", passphrase, token,
    tokenSecret = "token_secret", signature, realm, requestTokenURL = "request_token_url",
    authorizeURL = "authorize_url", accessTokenURL = "access_token_url", redirectURI = "redirect_uri",
    loginTimeout = "login_timeout", store, timeout, pins, backupPin = "backup_pin", pinMode = "pin_mode",
    pinsExpire = "pins_expire", caFile = "ca_file", revocation, allowAddresses = "allow_addresses"
  package static let loginTimeoutDefault: UInt64 = 300_000, timeoutDefault: UInt64 = 10_000
  package static let allBounds: [Self: ClosedRange<Int>] = [.loginTimeout: 1...3_600_000, .timeout: 1...60_000]
}

package enum ClientCertificateKey: String, ConfigurationKey {
  package static let kind = "\"client_certificate\""
  case certificate, privateKey = "private_key", passphrase
}

package enum ServiceKey: String, ConfigurationKey {
  package static let kind = "a service"
  case at, listener, upstream, serverName = "server_name", serviceProtocol = "protocol", credential, rules, pins,
    backupPin = "backup_pin", pinMode = "pin_mode", pinsExpire = "pins_expire", probe, caFile = "ca_file", revocation,
    allowAddresses = "allow_addresses", allowUsers = "allow_users", allowGroups = "allow_groups",
    allowClients = "allow_clients", setHeaders = "set_headers", removeHeaders = "remove_headers",
    removeParameters = "remove_parameters", allowClientHeaders = "allow_client_headers",
    onClientHeader = "on_client_header", cookies, via, onRejected = "on_rejected", redact, responses, rate, upgrades,
    timeouts, retry, dedicatedConnections = "dedicated_connections", reuseAfterBody = "reuse_after_body"
  package static let allBounds: [Self: ClosedRange<Int>] = [.probe: 1...604_800_000]
}

package enum RetryKey: String, ConfigurationKey {
  package static let kind = "\"retry\""
  case on, attempts, atMost = "at_most", replayBuffer = "replay_buffer"
  package static let attemptsDefault = 2, atMostDefault: UInt64 = 10_000, replayBufferDefault = 65_536
  package static let allBounds: [Self: ClosedRange<Int>] = [.attempts: 1...10, .atMost: 1...300_000,
    .replayBuffer: 0...1_048_576]
}

package enum RevocationKey: String, ConfigurationKey {
  package static let kind = "\"revocation\""
  case crlFile = "crl_file", stapling
}

package enum PinPolicyKey: String, ConfigurationKey {
  package static let kind = "a pin policy"
  case pins, backupPin = "backup_pin", pinMode = "pin_mode", expires, includeSubdomains = "include_subdomains", exclude
}

package enum RuleKey: String, ConfigurationKey {
  package static let kind = "a rule"
  case match, methods, credential, deny, description, message, rate, letterCase = "case", setHeaders = "set_headers",
    removeHeaders = "remove_headers", removeParameters = "remove_parameters",
    allowClientHeaders = "allow_client_headers", onClientHeader = "on_client_header"
}

package enum TimeoutKey: String, ConfigurationKey {
  package static let kind = "\"timeouts\""
  case connect, handshake, responseHead = "response_head", bodySilence = "body_silence", upgraded, total
  package static let allBounds: [Self: ClosedRange<Int>] = [.connect: 1...604_800_000, .handshake: 1...604_800_000,
    .responseHead: 1...604_800_000, .bodySilence: 1...604_800_000, .upgraded: 1...604_800_000, .total: 1...604_800_000]
}

package enum LimitKey: String, ConfigurationKey {
  package static let kind = "\"limits\""
  case head, fields, target, connections, connectionsPerUser = "connections_per_user",
    requestsPerUser = "requests_per_user", streams, idlePerIdentity = "idle_per_identity", clientHead = "client_head",
    clientIdle = "client_idle", clientBodyRate = "client_body_rate", decodedError = "decoded_error",
    upstreamIdle = "upstream_idle", streamWindow = "stream_window", upstreamPing = "upstream_ping",
    upstreamPingTimeout = "upstream_ping_timeout", tcpKeepalive = "tcp_keepalive", drain, revokedGrace = "revoked_grace"
  package static let allBounds: [Self: ClosedRange<Int>] = [.head: 1_024...1_048_576, .fields: 16...4_096,
    .target: 256...1_048_576, .connections: 1...1_000_000, .connectionsPerUser: 1...1_000_000,
    .requestsPerUser: 1...1_000_000, .streams: 1...10_000, .idlePerIdentity: 0...65_536, .clientHead: 1...604_800_000,
    .clientIdle: 1...604_800_000, .clientBodyRate: 0...1_048_576, .decodedError: 4_096...16_777_216,
    .upstreamIdle: 1...604_800_000, .streamWindow: 65_536...16_777_216, .upstreamPing: 1...604_800_000,
    .upstreamPingTimeout: 1...604_800_000, .drain: 0...604_800_000, .revokedGrace: 0...604_800_000]
}

package enum KeepaliveKey: String, ConfigurationKey {
  package static let kind = "\"tcp_keepalive\""
  case idle, interval, probes
  package static let allBounds: [Self: ClosedRange<Int>] = [.idle: 1...32_400_000, .interval: 1...32_400_000,
    .probes: 1...127]
}

/// All kinds of mapping, with the names of their keys.
package enum ConfigurationSchema {
  package static let sections: [(kind: String, keys: [String])] = [TopKey.section, AuditKey.section, ReportsKey.section,
    ListenerKey.section, BrowsersKey.section, CredentialKey.section, SourceKey.section, EnvironmentKey.section,
    BasicKey.section, HeaderKey.section, OAuth2Key.section, LoginKey.section, LoginHeaderKey.section,
    RefreshOnKey.section, SuspendKey.section, DigestKey.section, RegistryKey.section, QueryKey.section,
    OAuth1Key.section, ClientCertificateKey.section, ServiceKey.section, RetryKey.section, RevocationKey.section,
    PinPolicyKey.section, RuleKey.section, TimeoutKey.section, LimitKey.section, KeepaliveKey.section]
}
