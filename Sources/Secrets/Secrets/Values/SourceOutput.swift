/// The output of a source, with a copy of its value, on the way to the keyrings of other threads.
///
/// Unchecked: nothing in it changes after `init`, and its pages are wiped with it.
package final class SourceOutput<Source: Sendable>: @unchecked Sendable {
  package let source: Source
  /// nil: there is no value.
  let copy: SourceValue.Copy?
  /// Why there is no newer value; nil: nothing was wrong.
  let failure: String?
  /// False: it is not used any more, or has not been asked yet.
  let isKnown: Bool

  init(_ source: Source, copy: SourceValue.Copy? = nil, failure: String? = nil, isKnown: Bool = true) {
    self.source = source
    self.copy = copy
    self.failure = failure
    self.isKnown = isKnown
  }

  deinit { copy?.wipe() }
}
