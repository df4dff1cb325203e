internal import HTTP1
internal import Policy
@_spi(SecretBytes) package import Secrets
internal import System

/// A credential's response to an upstream's challenge, as a header field.
struct ChallengeResponse: ~Copyable {
  /// The `Authorization` line; empty if the request is sent without the credential.
  var line: Secret
  var attempt: ChallengeAttempt?
}

extension CredentialSlot {
  /// Computes the `Authorization` field for a request with exactly this method and target.
  func challengeResponse(
    to request: borrowing OutgoingRequest, of origin: Origin, _ lines: borrowing Secret, in arena: SecretArena
  ) throws(AuthorizationError) -> ChallengeResponse {
    do throws(SystemError) {
      var response = ChallengeResponse(line: try Secret(capacity: 1_024, in: arena))
      if let digest = traits.digest {
        let serial = try digest.spaces.append(
          to: &response.line, request: request, origin: origin, pair: lines, in: arena)
        response.attempt = ChallengeAttempt(
          kind: .digest(digest.spaces, digest.hashes), origin: origin, serial: serial, realm: traits.realm)
      } else if let registry = traits.registry {
        let target = RegistryTarget(request)
        let serial = try registry.tokens.append(to: &response.line, for: target, of: origin, at: BootTimer.now)
        response.attempt = ChallengeAttempt(
          kind: .registry(registry.tokens, target, registry.source), origin: origin, serial: serial)
      } else if let reactiveAuthentication = traits.reactiveAuthentication {
        response.attempt = ChallengeAttempt(
          kind: .awaited(reactiveAuthentication), origin: origin, serial: nil, realm: traits.realm)
      }
      return response
    } catch {
      throw AuthorizationError(
        reason: .unavailable, detail: "bearerd cannot create the response to the upstream's challenge: \(error)")
    }
  }

  fileprivate func copy(in arena: SecretArena) throws(SystemError) -> Secret {
    let copy = try lines.withValue { (lines) throws(SystemError) in
      try lines.withBytes { (bytes) throws(SystemError) in try Secret.copy(of: bytes, in: arena) }
    }
    guard let copy else { throw SystemError(operation: "a login", errno: 0) }
    return copy
  }
}

extension Keyring {
  /// Returns the login for a registry's token server, encoded as for Basic; empty if there is none.
  package func registryLogin(ofGrant index: Int) throws(SecretProblem) -> Secret {
    guard let slot = slot(index), slot.traits.registry != nil else {
      throw SecretProblem("the credential is not available")
    }
    do throws(SystemError) { return try slot.copy(in: reader.arena) } catch {
      throw SecretProblem("the credential is not available: \(error)")
    }
  }
}
