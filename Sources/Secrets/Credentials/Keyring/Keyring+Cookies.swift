package import Policy
internal import Secrets
internal import System
internal import TLS

extension Keyring {
  /// A ticket with which a request's cookies go out and its answer's come in; nil: the credential keeps none, or has no value.
  /// - Parameter holder: counts up with each login; of interest for tokens alone.
  package func jarTicket(ofGrant index: Int, to origin: Origin, holder: UInt64) -> JarTicket? {
    guard let jars, slots.indices.contains(index), let owner = slots[index].holder(holder) else { return nil }
    return jars.ticket(to: CookieJars.Place(credential: slots[index].entry.grant.name, origin: origin), of: owner)
  }

  /// Nothing goes out with a ticket of another credential, or to another origin than the session has proved.
  func keptCookies(
    of ticket: JarTicket, _ slot: CredentialSlot, _ head: Span<UInt8>, _ proof: SessionProof
  ) throws(AuthorizationError) -> CookieLine? {
    let grant = slot.entry.grant
    guard ticket.place == CookieJars.Place(credential: grant.name, origin: proof.identity.origin) else {
      throw AuthorizationError(
        reason: .wrongSession,
        detail: "the cookie jar does not belong to credential \(grant.name) at \(proof.identity.origin)")
    }
    do throws(SystemError) {
      return try head.withUnsafeBytes { (head) throws(SystemError) in
        guard let staged = HeadTarget(head) else { return nil }
        let path = head[staged.target].prefix { $0 != UInt8(ascii: "?") }
        return try jars?.line(with: ticket, for: UnsafeRawBufferPointer(rebasing: path), in: reader.arena)
      }
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
  }
}
