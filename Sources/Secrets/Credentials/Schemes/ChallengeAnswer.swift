internal import Policy
@_spi(SecretBytes) package import Secrets
internal import System

/// The line that goes out of a credential that answers challenges.
struct ChallengeAnswer: ~Copyable {
  /// Empty: nothing.
  var line: Secret
  var attempt: ChallengeAttempt?
}

extension CredentialSlot {
  /// For what this head asks for, by the bytes that really go out.
  func answer(
    to head: Span<UInt8>, of origin: Origin, _ lines: borrowing Secret, in arena: SecretArena
  ) throws(AuthorizationError) -> ChallengeAnswer {
    do throws(SystemError) {
      var answer = ChallengeAnswer(line: try Secret(capacity: 1_024, in: arena))
      if let digest = traits.digest {
        let serial = try digest.spaces.append(to: &answer.line, head: head, origin: origin, pair: lines, in: arena)
        answer.attempt = ChallengeAttempt(
          kind: .digest(digest.spaces, digest.hashes), origin: origin, serial: serial)
      } else if let registry = traits.registry, let place = RegistryPlace(head) {
        let serial = try registry.tokens.append(to: &answer.line, for: place, of: origin, at: BootTimer.now)
        answer.attempt = ChallengeAttempt(
          kind: .registry(registry.tokens, place, registry.source), origin: origin, serial: serial)
      } else if let reactiveAuthentication = traits.reactiveAuthentication {
        answer.attempt = ChallengeAttempt(kind: .awaited(reactiveAuthentication), origin: origin, serial: nil)
      }
      return answer
    } catch {
      throw AuthorizationError(
        reason: .unavailable, detail: "bearerd cannot create the response to the upstream's challenge: \(error)")
    }
  }

  /// A copy of what it would write.
  fileprivate func copy(in arena: SecretArena) throws(SystemError) -> Secret {
    var copy = try Secret(capacity: 256, in: arena)
    switch lines {
    case .none: throw SystemError(operation: "a login", errno: 0)
    case .some(let lines): try lines.withBytes { (bytes) throws(SystemError) in try copy.append(bytes) }
    }
    return copy
  }
}

extension Keyring {
  /// The login that the token server of a registry's credential is shown, as Basic has it; empty: none.
  package func registryLogin(ofGrant index: Int) throws(SecretProblem) -> Secret {
    guard slots.indices.contains(index), slots[index].traits.registry != nil else {
      throw SecretProblem("the credential is not available")
    }
    do throws(SystemError) { return try slots[index].copy(in: reader.arena) } catch {
      throw SecretProblem("the credential is not available: \(error)")
    }
  }
}
