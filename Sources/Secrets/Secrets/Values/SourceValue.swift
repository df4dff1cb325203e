/// The value of a source, a file, a program or a token endpoint: each part in locked memory.
package struct SourceValue: ~Copyable {
  /// nil: it names no user.
  package let user: Secret?
  /// A token or a password.
  package let secret: Secret
  /// Seconds since 1970 until which it counts; nil: it does not say.
  package let expiry: Int64?
  /// A program gave it as a token with its scheme, and not as a password.
  package let isToken: Bool

  init(user: consuming Secret? = nil, secret: consuming Secret, expiry: Int64? = nil, isToken: Bool = false) {
    self.user = user
    self.secret = secret
    self.expiry = expiry
    self.isToken = isToken
  }

  package var userCount: Int? {
    switch user {
    case .none: nil
    case .some(let user): user.count
    }
  }

  /// Borrowed for the call. Without a user there is nothing to lend of one.
  @_spi(SecretBytes) public borrowing func withPart<Failure: Error>(
    isUser: Bool, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    guard isUser else { return try secret.withBytes(body) }
    switch user {
    case .none: break
    case .some(let user): try user.withBytes(body)
    }
  }

  /// Seconds before the end at which a value is not used any more: it has a way to go, and clocks differ. A tenth of what is
  /// left, if that is less.
  private static let skew: UInt64 = 10_000

  /// Milliseconds for which a value with this expiry is used; 0: it has expired.
  package static func lifetime(until expiry: Int64, now: (seconds: Int64, microseconds: Int64)) -> UInt64 {
    let (seconds, overflow) = expiry.subtractingReportingOverflow(now.seconds)
    guard !overflow, seconds > 0 else { return overflow && expiry > 0 ? .max : 0 }
    let (whole, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
    let left = isTooLong ? UInt64.max : whole &- UInt64(clamping: now.microseconds / 1_000)
    return left - min(skew, left / 10)
  }

  /// Whether it would be written alike.
  borrowing func isSame(as other: borrowing SourceValue) -> Bool {
    guard secret.isEqual(to: other.secret) else { return false }
    switch user {
    case .none:
      switch other.user {
      case .none: return true
      case .some: return false
      }
    case .some(let mine):
      switch other.user {
      case .none: return false
      case .some(let theirs): return mine.isEqual(to: theirs)
      }
    }
  }
}
