/// When bearerd suspends a credential that an upstream keeps rejecting (T41).
package struct Suspension: Sendable, Equatable {
  /// Number of successive rejections that suspend the credential.
  package var after = 5
  /// Milliseconds until one request may try the credential again. Doubles with each further rejection.
  package var time: UInt64 = 60_000
  package init() {}
}
