@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
@testable import OAuth
import Policy
import Settings
import TestSupport
import Testing

/// A new arena for each use, because tests run in parallel and an arena belongs to one thread.
var arena: SecretArena { SecretArena() }

func source(
  _ grant: TokenGrantKind = .clientCredentials, id: String = "bearerd",
  _ authentication: TokenClient.Authentication = .none
) throws -> TokenSource {
  TokenSource(
    credential: "mail", endpoint: try Endpoint(parsing: "https://login.example.com/oauth2/token"), grant: grant,
    client: TokenClient(id: id, authentication: authentication))
}

/// A secret source that the tests never read.
let somewhere = SecretSource.env("NOWHERE")

func secret(_ bytes: some Sequence<UInt8>) throws -> Secret {
  var secret = try Secret(capacity: 64, in: arena)
  for byte in bytes { try secret.append(byte) }
  return secret
}

func secrets(_ all: [TokenSecrets.Role: String]) throws -> TokenSecrets {
  let secrets = TokenSecrets()
  for (role, text) in all { secrets.put(role, try secret(text.utf8)) }
  return secrets
}

func text(_ secret: borrowing Secret) -> String { secret.withBytes { String(decoding: $0, as: UTF8.self) } }

let moment = TokenRequest.Moment(now: 1_700_000_000, nonce: Array(0..<16))

/// The lines and the body of a rendered request.
func rendered(
  _ source: TokenSource, _ purpose: TokenRequest.Purpose = .token, _ all: [TokenSecrets.Role: String] = [:],
  at moment: TokenRequest.Moment = moment
) throws -> (head: [String], body: String) {
  let request = try TokenRequest.render(source, purpose, try secrets(all), at: moment, in: arena)
  let text = request.bytes.withBytes { String(decoding: $0, as: UTF8.self) }
  let end = try #require(text.firstRange(of: "\r\n\r\n"))
  return (
    text[..<end.lowerBound].split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init),
    String(text[end.upperBound...])
  )
}

/// The problem of a request that cannot be rendered. `nil` if there is none.
func problem(
  _ source: TokenSource, _ purpose: TokenRequest.Purpose = .token, _ all: [TokenSecrets.Role: String] = [:]
) throws -> String? {
  do throws(SecretProblem) {
    _ = try TokenRequest.render(source, purpose, (try? secrets(all)) ?? TokenSecrets(), at: moment, in: arena)
    return nil
  } catch {
    return error.sentence
  }
}

/// Reads a response of a token endpoint.
func read(
  _ body: String, status: Int = 200, of source: TokenSource? = nil, to purpose: TokenRequest.Purpose = .token,
  contentType: String? = "application/json", now: Int64 = 0, change: (inout TokenResponseHead) -> Void = { _ in }
) throws -> Said {
  var head = TokenResponseHead(status: status, contentType: contentType)
  change(&head)
  let bytes = Array(body.utf8)
  let source = try source ?? OAuthTests.source(.refreshToken(first: somewhere))
  switch TokenResponse.read(head, bytes.span, of: source, to: purpose, now: now, in: arena) {
  case .granted(let grant):
    let refreshToken: String? =
      switch grant.refreshToken {
      case .some(let token): text(token)
      case .none: nil
      }
    return .granted(
      text(grant.accessToken), refreshToken: refreshToken, lifetime: grant.lifetime, isOdd: grant.remark != nil)
  case .refused(let refusal): return .refused(refusal.kind, refusal.code, refusal.sentence)
  }
}

/// A comparable form of `TokenResponse`.
enum Said: Equatable {
  case granted(String, refreshToken: String?, lifetime: UInt64?, isOdd: Bool)
  case refused(TokenRefusal.Kind, TokenErrorCode?, String)

  var kind: TokenRefusal.Kind? {
    switch self {
    case .granted: nil
    case .refused(let kind, _, _): kind
    }
  }
}
