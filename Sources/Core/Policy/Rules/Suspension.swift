/// When a credential that an upstream keeps rejecting is held back, so that a wrong password locks no account (T41).
package struct Suspension: Sendable, Equatable {
  /// So many rejections in a row, without a success between them.
  package var after = 5
  /// Milliseconds until one request may try again; doubled each time that it is rejected, too, up to an hour.
  package var time: UInt64 = 60_000
  package init() {}
}
