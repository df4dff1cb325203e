internal import JSON
package import Secrets
package import Settings

/// An authorization server's response to a `TokenRequest` (RFC 6749 section 5). Error messages contain no text of the
/// server.
package enum TokenResponse: ~Copyable {
  case granted(TokenGrant)
  case refused(TokenRefusal)

  /// Maximum size of a response body, in bytes.
  package static let longestBody = JSONDocument.maximumSize

  /// Reads a response to `.token`, `.code` or `.deviceToken`.
  /// - Parameters:
  ///   - body: the complete body, without framing. The caller wipes it.
  ///   - now: seconds since 1970.
  package static func read(
    _ head: TokenResponseHead, _ body: Span<UInt8>, of source: TokenSource, to purpose: TokenRequest.Purpose,
    now: Int64,
    in arena: SecretArena
  ) -> TokenResponse {
    do throws(TokenRefusal) {
      let reader = TokenResponseReader(head: head, source: source, purpose: purpose, now: now, arena: arena)
      let grant = try reader.read(body) { (document) throws(TokenRefusal) in try reader.grant(document, in: arena) }
      return .granted(grant)
    } catch {
      return .refused(error)
    }
  }

  /// Reads a complete response from an authorization server, or a response to `.token` from a login URL.
  /// - Parameter now: seconds since 1970.
  package static func read(
    _ intake: TokenResponseReceiver, of source: TokenSource, to purpose: TokenRequest.Purpose = .token, now: Int64,
    in arena: SecretArena
  ) -> TokenResponse {
    if purpose == .oauth1Token {
      return intake.withResponse { head, body in
        let response = OAuth1Response(head: head, source: source, purpose: purpose, arena: arena)
        do throws(TokenRefusal) { return .granted(try response.grant(body)) } catch { return .refused(error) }
      }
    }
    guard purpose == .token, let form = source.form else {
      return intake.withResponse { head, body in read(head, body, of: source, to: purpose, now: now, in: arena) }
    }
    return intake.withResponse { head, body in
      let response = LoginResponse(head: head, form: form, source: source, now: now, arena: arena)
      do throws(TokenRefusal) {
        return .granted(try response.read(body, cookies: intake.cookies))
      } catch {
        return .refused(error)
      }
    }
  }

  /// Returns why the server did not revoke a token (RFC 7009 section 2.2). `nil` if the token is no longer valid.
  package static func refusal(
    ofRevocation head: TokenResponseHead, _ body: Span<UInt8>, of source: TokenSource,
    _ kind: TokenRequest.RevokedToken,
    now: Int64
  ) -> TokenRefusal? {
    if head.status == 200 { return nil }
    let reader = TokenResponseReader(
      head: head, source: source, purpose: .revocation(kind), now: now, arena: SecretArena())
    do throws(TokenRefusal) {
      return try reader.read(body) { (_) throws(TokenRefusal) in reader.malformed("without an error") }
    } catch {
      return error
    }
  }
}
