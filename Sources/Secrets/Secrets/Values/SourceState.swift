/// The state of a source with a copy of its value, for the keyrings of other threads.
///
/// `@unchecked`: immutable after `init`.
package final class SourceState<Source: Sendable>: @unchecked Sendable {
  package let source: Source
  let copy: SourceValue.Copy?
  /// Why the source has given no newer value than `copy`; `nil` if nothing failed.
  let failure: String?
  /// `false` if the source is no longer used, or has produced no result yet.
  let isKnown: Bool

  init(_ source: Source, copy: SourceValue.Copy? = nil, failure: String? = nil, isKnown: Bool = true) {
    self.source = source
    self.copy = copy
    self.failure = failure
    self.isKnown = isKnown
  }

  deinit { copy?.wipe() }
}
