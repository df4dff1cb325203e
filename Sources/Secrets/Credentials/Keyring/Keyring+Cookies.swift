internal import HTTP1
package import Policy
internal import Primitives
internal import Secrets
internal import System
internal import TLS

extension Keyring {
  package func keepCookies(in jars: CookieJars) { self.jars = jars }

  /// Wipes a credential's cookies now if they belong to an earlier value, and after each later change of its value.
  package func keepCookies(of credential: String) {
    if let index = plan.indices[credential] { slots[index].jars = jars }
  }

  /// Returns a ticket, with which one request can use the credential's cookie jar for `origin`; `nil` if the credential
  /// has no jar or no value.
  /// - Parameter holder: number of the OAuth login that the token comes from. Ignored for other credentials.
  package func jarTicket(ofGrant index: Int, to origin: Origin, holder: UInt64) -> JarTicket? {
    guard let jars, let slot = slot(index), let owner = slot.cookieOwner(holder) else { return nil }
    return jars.ticket(to: CookieJars.Key(credential: slot.entry.grant.name, origin: origin), of: owner)
  }

  /// Returns the `Cookie` line for `request` with the cookies of the ticket's jar; `nil` if there are none.
  func jarCookieLine(
    of ticket: JarTicket, _ slot: CredentialSlot, _ request: borrowing OutgoingRequest, _ proof: SessionProof
  ) throws(AuthorizationError) -> CookieLine? {
    // Throws if the jar belongs to a different credential than `slot`, or to a different origin than `proof`.
    let grant = slot.entry.grant
    guard ticket.key == CookieJars.Key(credential: grant.name, origin: proof.identity.origin) else {
      throw AuthorizationError(
        reason: .wrongSession,
        detail: "the cookie jar does not belong to credential \(grant.name) at \(proof.identity.origin)")
    }
    guard request.hasPath else { return nil }
    let target = request.target
    do throws(SystemError) {
      return try request.line.storage.span.withUnsafeBytes { (bytes) throws(SystemError) in
        let path = bytes[target].prefix { $0 != UInt8(ascii: "?") }
        return try jars?.line(with: ticket, for: UnsafeRawBufferPointer(rebasing: path), in: reader.arena)
      }
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
  }
}
