internal import System

/// Tokens that endpoints have granted. Kept here for the keyrings of later configurations, which go on with them.
package final class TokenValues {
  package let arena = SecretArena()
  private var all: [TokenSource: Kept] = [:]

  private final class Kept {
    var value: Secret?
    /// Why there is no newer one; nil: nothing was wrong.
    var failure: String?
  }

  package init() {}

  /// A token lies in locked memory, or nowhere.
  package internal(set) var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  /// False when memory could not be locked.
  package private(set) var isLocked = true

  /// Whether its endpoint has been asked, and has answered or not.
  package func isKnown(_ source: TokenSource) -> Bool { all[source] != nil }

  /// Takes it in the place of what is there.
  package func take(_ source: TokenSource, _ token: consuming Secret) {
    let kept = kept(source)
    kept.value = consume token
    kept.failure = nil
    if !arena.isLocked { isLocked = false }
  }

  /// None came: what is there stays.
  package func fail(_ source: TokenSource, _ sentence: String) { kept(source).failure = sentence }

  /// Its time is over.
  package func expire(_ source: TokenSource) { all[source]?.value = nil }

  func takeValue(_ source: TokenSource) -> Secret? { all[source]?.value.take() }

  /// Nobody uses it any more.
  package func forget(_ source: TokenSource) { all[source] = nil }

  /// Whether this is the value that is in use, or what is left of it where answers are searched for it.
  package func holds(_ value: Span<UInt8>, of source: TokenSource) -> Bool {
    value.withUnsafeBytes { bytes in
      if bytes.allSatisfy({ $0 == Redactor.mask }) { return true }
      guard let kept = all[source] else { return false }
      switch kept.value {
      case .some(let held): return held.withBytes { $0.elementsEqual(bytes) }
      case .none: return false
      }
    }
  }

  /// Why the value is not renewed, if there is one.
  func failure(of source: TokenSource) -> String? {
    all[source]?.failure.map { $0 + " (the token from before is still in use)" }
  }

  /// Appends a copy to `secret`.
  func append(_ source: TokenSource, to secret: inout Secret) throws(SecretProblem) {
    let name = SecretSource.token(source).name
    guard let kept = all[source] else {
      throw SecretProblem("\(source.endpoint) has not been asked yet", isMissing: true)
    }
    switch kept.value {
    case .none: throw SecretProblem(kept.failure ?? "the time of \(name) is over", isMissing: true)
    case .some(let value):
      do throws(SystemError) {
        try value.withBytes { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: name)
      }
    }
  }

  private func kept(_ source: TokenSource) -> Kept {
    if let kept = all[source] { return kept }
    let kept = Kept()
    all[source] = kept
    return kept
  }

  // MARK: from one thread to another

  /// How a token stands, with a copy of its value. Without memory for a copy there is none of it, and that is a failure.
  package func output(of source: TokenSource) -> TokenOutput {
    guard let kept = all[source] else { return TokenOutput(source, isKnown: false) }
    switch kept.value {
    case .none: return TokenOutput(source, failure: kept.failure)
    case .some(let value):
      do throws(SystemError) {
        return try value.withBytes { (bytes) throws(SystemError) in
          let pages = try LockedMemory(byteCount: max(1, bytes.count), mustLock: mustLock)
          pages.bytes.copyMemory(from: bytes)
          return TokenOutput(source, memory: pages, count: bytes.count, failure: kept.failure)
        }
      } catch {
        return TokenOutput(source, failure: SecretProblem(error, reading: SecretSource.token(source).name).sentence)
      }
    }
  }

  /// The same here.
  package func adopt(_ output: TokenOutput) {
    guard output.isKnown else { return forget(output.source) }
    let kept = kept(output.source)
    kept.value = nil
    kept.failure = output.failure
    guard let bytes = output.bytes else { return }
    do throws(SystemError) {
      var value = try Secret(capacity: bytes.count, in: arena)
      try value.append(bytes)
      kept.value = consume value
      if !arena.isLocked { isLocked = false }
    } catch {
      kept.failure = SecretProblem(error, reading: SecretSource.token(output.source).name).sentence
    }
  }
}
