internal import JSON
package import Secrets

/// The answer of an authorization server to a `TokenRequest`. Read strictly (RFC 6749 section 5): at the top level only, no key
/// twice, bounded in size and depth. Never a byte of the server's in a sentence.
package enum TokenAnswer: ~Copyable {
  case granted(TokenGrant)
  case refused(TokenRefusal)

  /// The most bytes of a body that are read: after that the connection can be closed.
  package static let longestBody = JSONDocument.maximumSize

  /// An answer to `.token`, `.code` and `.deviceToken`.
  /// - Parameters:
  ///   - body: the whole one, without its framing. The caller wipes it.
  ///   - now: seconds since 1970, for a `Retry-After` that is a date where the answer has no date of its own.
  package static func read(
    _ head: AnswerHead, _ body: Span<UInt8>, of source: TokenSource, to purpose: TokenRequest.Purpose, now: Int64,
    in arena: SecretArena
  ) -> TokenAnswer {
    do throws(TokenRefusal) {
      let reader = AnswerReader(head: head, source: source, purpose: purpose, now: now)
      let grant = try reader.read(body) { (document) throws(TokenRefusal) in try reader.grant(document, in: arena) }
      return .granted(grant)
    } catch {
      return .refused(error)
    }
  }

  /// The whole answer that an intake has, to `.token`: of an authorization server, or of a login URL.
  /// - Parameter now: as above.
  package static func read(
    _ intake: AnswerIntake, of source: TokenSource, now: Int64, in arena: SecretArena
  ) -> TokenAnswer {
    guard let form = source.form else {
      return intake.withAnswer { head, body in read(head, body, of: source, to: .token, now: now, in: arena) }
    }
    return intake.withAnswer { head, body in
      let answer = LoginAnswer(head: head, form: form, source: source, now: now, arena: arena)
      do throws(TokenRefusal) {
        return .granted(try answer.read(body, cookies: intake.cookies))
      } catch {
        return .refused(error)
      }
    }
  }

  /// An answer to `.revocation` (RFC 7009 section 2.2): nil: the server knows the token no more.
  package static func refusal(
    ofRevocation head: AnswerHead, _ body: Span<UInt8>, of source: TokenSource, _ kind: TokenRequest.RevokedToken,
    now: Int64
  ) -> TokenRefusal? {
    if head.status == 200 { return nil }
    let reader = AnswerReader(head: head, source: source, purpose: .revocation(kind), now: now)
    do throws(TokenRefusal) {
      return try reader.read(body) { (_) throws(TokenRefusal) in reader.malformed("without an error") }
    } catch {
      return error
    }
  }
}
