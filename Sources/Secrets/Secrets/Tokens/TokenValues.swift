package import Settings

package final class TokenValues: SourceValues<TokenSource> {
  override func name(of source: TokenSource) -> String { SecretSource.token(source).name }

  override func missingValueProblem(of source: TokenSource, isKnown: Bool) -> SecretProblem {
    SecretProblem(
      isKnown ? "\(name(of: source)) has expired" : "bearerd has not asked \(source.endpoint) yet", isMissing: true
    )
  }

  override var stillInUse: String { " (the previous token is still in use)" }

  package func store(_ source: TokenSource, _ token: consuming Secret) {
    put(SourceValue(secret: token, isToken: true), source)
  }

  package func removeToken(_ source: TokenSource) -> Secret? {
    guard let value = entry(source)?.value.take() else { return nil }
    return value.secret
  }

  /// Whether `value` is the current token, either as received or masked with `Secret.mask`.
  package func isCurrent(_ value: Span<UInt8>, of source: TokenSource) -> Bool {
    value.withUnsafeBytes { bytes in
      if bytes.allSatisfy({ $0 == Secret.mask }) { return true }
      return entry(source)?.value.withValue { $0.secret.withBytes { $0.elementsEqual(bytes) } } ?? false
    }
  }
}
