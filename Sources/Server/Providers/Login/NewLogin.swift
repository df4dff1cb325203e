internal import OAuth
internal import Secrets
internal import System

/// The tokens that a person's login has brought, on their way to where they are held.
final class NewLogin {
  var access: Secret?
  var refresh: Secret?
  /// Milliseconds from `since` on; nil: unknown.
  let lifetime: UInt64?
  /// When the server was asked, of the clock that goes on in sleep.
  let since: UInt64
  /// Seconds since 1970 at which the access token ends.
  let expiry: Int64?
  /// With which it was asked: they say whose login this is.
  let secrets: TokenSecrets
  let remark: String?

  init(_ grant: consuming TokenGrant, since: UInt64, secrets: TokenSecrets) {
    (lifetime, remark) = (grant.lifetime, grant.remark)
    let left = grant.lifetime.map { Int64(clamping: $0) - Int64(clamping: BootTimer.now &- since) }
    expiry = left.map { max(1, Clock.now.seconds &+ $0 / 1000) }
    (self.since, self.secrets) = (since, secrets)
    grant.take(access: &access, refresh: &refresh)
  }

  var isRenewable: Bool {
    switch refresh {
    case .none: false
    case .some: true
    }
  }
}
