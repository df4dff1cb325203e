internal import OAuth
internal import Secrets

/// A login in a browser with OAuth 1.0 (RFC 5849 section 2): asks for a request token, shows the server's page, waits for
/// the verifier, and asks for the token.
final class OAuth1LoginFlow: BrowserLoginFlow {
  private var authorization: OAuth1Authorization?

  override func begin() {
    do throws(SecretProblem) {
      let purpose = TokenRequest.Purpose.requestToken(callback: redirectURI)
      attempt.endpointClient.ask(purpose, try attempt.secrets()) { [unowned self] result in
        switch result {
        case .success(let receiver): showPage(receiver)
        case .failure(let problem): attempt.fail(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  private func showPage(_ receiver: TokenResponseReceiver) {
    do throws(TokenRefusal) {
      let authorization = try OAuth1Authorization.begin(
        receiver, of: attempt.source, callback: redirectURI, in: attempt.arena)
      attempt.show("open \(authorization.url)")
      self.authorization = consume authorization
    } catch {
      return attempt.fail(error.sentence)
    }
    waitForBrowser()
  }

  override func evaluate(_ target: Span<UInt8>) -> BrowserLogin.Verdict? {
    authorization?.evaluate(target, in: attempt.arena)
  }

  override func put(_ code: consuming Secret, into secrets: TokenSecrets) throws(SecretProblem) -> Bool {
    switch authorization {
    case .none: return false
    case .some(let authorization):
      try authorization.put(code, into: secrets, in: attempt.arena)
      return true
    }
  }

  override var exchangePurpose: TokenRequest.Purpose { .oauth1Token }

  override func forget() { authorization = nil }
}
