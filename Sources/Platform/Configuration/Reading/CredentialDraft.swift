internal import Policy
import Primitives
internal import Settings

/// A credential as it was read, perhaps with errors.
struct CredentialDraft {
  let name: String
  let location: TextLocation
  var origins: [Origin] = []
  var originsLocation: TextLocation
  var callers: Callers?
  var clients: [ClientReference] = []
  var scheme: AuthScheme?
  var suspension: Suspension? = Suspension()
  var certificate: ClientCertificateDraft?
  var cutsOnChange = false
  /// Maximum size of a request body to keep for a second attempt, in bytes. `nil` if there is no second attempt.
  var replayBuffer: Int?
  /// Responses that mean an expired token, in addition to 401.
  var refreshOn: [ExpirySigns.Sign] = []
  /// Whether the credential has `mode: challenge`.
  var waitsForChallenge = false
  /// The realm that a challenge must have; `nil` for any realm.
  var realm: String?
  /// The indices of the credentials in a combined credential.
  var parts: [Int] = []
  var partGrants: [Grant] = []
  /// The location of the scheme, or `nil` if no secret comes from an environment variable.
  var environmentLocation: TextLocation?

  var grant: Grant {
    Grant(
      name: name, origins: origins, callers: callers, fieldNames: fieldNames, replayBuffer: replayBuffer,
      parts: partGrants, signsForms: scheme?.signsForms ?? false, authRetry: authRetry, expiry: expiry,
      cookie: scheme?.login?.form?.cookie)
  }

  private var authRetry: AuthRetryReason {
    switch scheme {
    case .digest(_, _, let hashes): .digest(hashes, realm: realm.map { Array($0.utf8) })
    case .registry(_, let registry): .registry(registry.endpoint)
    case .bearer, .basic:
      if waitsForChallenge, let awaited = scheme?.awaitedChallenge {
        .challenged(awaited, realm: realm.map { Array($0.utf8) })
      } else {
        .expiry
      }
    case .headers, .query, .oauth1, .all, nil: .expiry
    }
  }

  /// The responses that mean that the credential has expired.
  private var expiry: ExpirySigns {
    let isInField = if case .headers = scheme { true } else { false }
    return ExpirySigns(acceptsAnyUnauthorized: scheme?.token == nil || isInField, more: refreshOn)
  }

  var settings: CredentialSettings? {
    scheme.map {
      CredentialSettings(
        name: name, scheme: $0, suspension: suspension, line: location.line, certificate: certificate?.settings,
        cutsOnChange: cutsOnChange)
    }
  }

  var fieldNames: [String] {
    scheme?.fieldNames ?? []
  }
}

extension AuthScheme {
  /// The query parameters that the credential sets.
  var parameterNames: [String] {
    switch self {
    case .bearer, .basic, .headers, .digest, .registry: []
    case .query(let name, _): [name]
    case .oauth1: OAuth1Client.parameterNames
    case .all(let schemes): schemes.flatMap(\.parameterNames)
    }
  }

  /// The lowercase names of the header fields that the credential sets.
  var fieldNames: [String] {
    switch self {
    case .bearer, .basic, .oauth1, .digest, .registry: ["authorization"]
    case .headers(let headers): headers.map { ASCII.lowercased($0.name) }
    case .query: []
    case .all(let schemes): schemes.flatMap(\.fieldNames)
    }
  }

  /// Whether the credential's value depends on a challenge from the upstream.
  var respondsToChallenges: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .oauth1: false
    case .digest, .registry: true
    case .all(let schemes): schemes.contains(where: \.respondsToChallenges)
    }
  }

  var signsForms: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .digest, .registry: false
    case .oauth1(let client): client.signsForms
    case .all(let schemes): schemes.contains(where: \.signsForms)
    }
  }

  /// The scheme of the challenge after which the credential is sent, or `nil` if `mode` does not apply.
  var awaitedChallenge: ChallengedScheme? {
    switch self {
    case .bearer: .bearer
    case .basic: .basic
    case .headers, .digest, .registry, .query, .oauth1, .all: nil
    }
  }
}
