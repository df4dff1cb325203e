internal import OAuth
internal import Secrets
internal import System

/// The tokens of a person's new login, before they are stored and used.
final class NewLogin {
  var access: Secret?
  var refresh: Secret?
  /// Lifetime of the access token, in milliseconds from `since`. `nil` if unknown.
  let lifetime: UInt64?
  /// When the tokens were requested, in milliseconds of `BootTimer`.
  let since: UInt64
  /// Expiry of the access token, in seconds since 1970. `nil` if unknown.
  let expiry: Int64?
  /// The secrets of the login's token request.
  let secrets: TokenSecrets
  let remark: String?

  init(_ grant: consuming TokenGrant, since: UInt64, secrets: TokenSecrets) {
    (lifetime, remark) = (grant.lifetime, grant.remark)
    let remaining = grant.lifetime.map { Int64(clamping: $0) - Int64(clamping: BootTimer.now &- since) }
    expiry = remaining.map { max(1, Clock.now.seconds &+ $0 / 1000) }
    (self.since, self.secrets) = (since, secrets)
    grant.unpack(access: &access, refresh: &refresh)
  }

  var isRenewable: Bool { refresh != nil }
}
