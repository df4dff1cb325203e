/// The value of a file, a program or a token endpoint. Each part is in locked memory.
package struct SourceValue: ~Copyable {
  package let user: Secret?
  package let secret: Secret
  /// Expiry in seconds since 1970; `nil` if the source gives none.
  package let expiry: Int64?
  /// Whether the source gave the secret as a bearer token, not as a password.
  package let isToken: Bool

  package init(user: consuming Secret? = nil, secret: consuming Secret, expiry: Int64? = nil, isToken: Bool = false) {
    self.user = user
    self.secret = secret
    self.expiry = expiry
    self.isToken = isToken
  }

  package var userCount: Int? { user.withValue { $0.count } }

  /// Lends the user name or the secret for the duration of the call. Does not call `body` if there is no such part.
  @_spi(SecretBytes) public borrowing func withPart<Failure: Error>(
    isUser: Bool, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    guard isUser else { return try secret.withBytes(body) }
    try user.withValue { (user) throws(Failure) in try user.withBytes(body) }
  }

  /// A value is no longer used this many milliseconds before its expiry.
  private static let skew: UInt64 = 10_000

  /// Returns the milliseconds for which a value with this expiry may be used; 0 if it has expired.
  package static func lifetime(until expiry: Int64, now: (seconds: Int64, microseconds: Int64)) -> UInt64 {
    let (seconds, overflow) = expiry.subtractingReportingOverflow(now.seconds)
    guard !overflow, seconds > 0 else { return overflow && expiry > 0 ? .max : 0 }
    let (whole, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
    let left = isTooLong ? UInt64.max : whole &- UInt64(clamping: now.microseconds / 1_000)
    return left - min(skew, left / 10)
  }

  /// Whether both values have the same user name and secret.
  borrowing func isSame(as other: borrowing SourceValue) -> Bool {
    guard secret.isEqual(to: other.secret) else { return false }
    let isSameUser = user.withValue { user in other.user.withValue { user.isEqual(to: $0) } ?? false }
    return isSameUser ?? (other.user == nil)
  }
}
