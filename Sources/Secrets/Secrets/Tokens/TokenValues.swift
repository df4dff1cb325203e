/// Tokens that endpoints have granted.
package final class TokenValues: SourceValues<TokenSource> {
  override func name(of source: TokenSource) -> String { SecretSource.token(source).name }

  override func absence(of source: TokenSource, isKnown: Bool) -> SecretProblem {
    SecretProblem(
      isKnown ? "\(name(of: source)) has expired" : "bearerd has not asked \(source.endpoint) yet", isMissing: true
    )
  }

  override var stillInUse: String { " (the previous token is still in use)" }

  /// Takes it in the place of what is there.
  package func take(_ source: TokenSource, _ token: consuming Secret) {
    put(SourceValue(secret: token, isToken: true), source)
  }

  package func takeValue(_ source: TokenSource) -> Secret? {
    guard let value = entry(source)?.value.take() else { return nil }
    return value.secret
  }

  /// Whether this is the value that is in use, or what is left of it where answers are searched for it.
  package func holds(_ value: Span<UInt8>, of source: TokenSource) -> Bool {
    value.withUnsafeBytes { bytes in
      if bytes.allSatisfy({ $0 == Secret.mask }) { return true }
      guard let entry = entry(source) else { return false }
      switch entry.value {
      case .some(let held): return held.secret.withBytes { $0.elementsEqual(bytes) }
      case .none: return false
      }
    }
  }
}
