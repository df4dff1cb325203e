internal import Credentials
internal import OAuth
internal import System

/// The login of one credential, where it outlives the process: read once, written each time that the server gives another
/// refresh token, or a person logs in.
final class TokenLogin {
  private let source: TokenSource
  private let beside: BesideLoop
  private var content: StoredLogin.Content?
  private var isRead: Bool
  /// Granted, and not on disk yet.
  private var granted: Secret?
  private var grantedKind = StoredLogin.Kind.refreshToken
  /// A stored access token has been taken: whoever asks again has found that it is worth nothing.
  private var isSpent = false
  /// With which the server was asked; and the configured ones, which say whose login this is.
  private var asked: TokenSecrets?
  private var configured: TokenSecrets?

  init(_ source: TokenSource, beside: BesideLoop) {
    self.source = source
    self.beside = beside
    isRead = source.store == nil
  }

  /// Reads the file, if that has not been done. `onEnd` is called once, perhaps at once; with what is wrong.
  func read(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard !isRead, let path = source.store else { return onEnd(nil) }
    beside.run { () -> Result<StoredLogin.Content?, SystemError> in
      do throws(SystemError) {
        return .success(try StoredLogin.Content.read(path, mustLock: mustLock))
      } catch {
        return .failure(error)
      }
    } onEnd: { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let content):
        self.content = content
        isRead = true
        onEnd(nil)
      case .failure(let problem): onEnd("\(path) cannot be used: \(problem)")
      case nil: onEnd("the system has no thread to read \(path) with")
      }
    }
  }

  /// The secrets of the next request: what the configuration names, and the kept refresh token in the place of the first one.
  func secrets(from keyring: Keyring) throws(SecretProblem) -> TokenSecrets {
    guard let content else {
      let secrets = try keyring.tokenSecrets(of: source)
      (asked, configured) = (secrets, secrets)
      return secrets
    }
    let (secrets, configured) = (try keyring.keptTokenSecrets(of: source), try keyring.keptTokenSecrets(of: source))
    (asked, self.configured) = (secrets, configured)
    if let login = try StoredLogin.decode(content, of: source, configured, in: keyring.tokenValues.arena),
      login.kind == .refreshToken
    {
      login.put(into: secrets)
    }
    return secrets
  }

  /// The stored login, if it is a token that goes out as it is; once.
  func storedToken(from keyring: Keyring) throws(SecretProblem) -> TokenGrant? {
    guard let content, !isSpent else { return nil }
    isSpent = true
    let configured = try keyring.keptTokenSecrets(of: source)
    guard let login = try StoredLogin.decode(content, of: source, configured, in: keyring.tokenValues.arena) else {
      return nil
    }
    return login.grant(now: Clock.now.seconds)
  }

  /// A person has logged in: what is kept from now on is the refresh token, and without one the token itself.
  /// - Returns: whether it has to be stored, with `store`.
  func adopt(_ new: NewLogin, in arena: SecretArena) throws(SecretProblem) -> Bool {
    guard source.store != nil else { return false }
    switch new.refresh.take() {
    case .some(let token):
      granted = consume token
      grantedKind = .refreshToken
    case .none:
      switch new.access {
      case .none: return false
      case .some(let token):
        granted = try token.copy(in: arena)
        grantedKind = .accessToken(until: new.expiry)
      }
    }
    (configured, isSpent) = (new.secrets, true)
    return true
  }

  /// What the server has granted beside a token.
  /// - Returns: whether it has to be stored, with `store`.
  func take(_ refreshToken: consuming Secret?) -> Bool {
    defer { asked = nil }
    guard source.store != nil, let refreshToken else { return false }
    if asked?.isAskedWith(refreshToken) == true { return false }
    granted = consume refreshToken
    grantedKind = .refreshToken
    return true
  }

  /// Writes what was granted. `onEnd` is called once, on a later turn or at once, with what is wrong: then it is still there,
  /// for another try.
  func store(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard let path = source.store, let configured else { return onEnd("there is nothing to be written") }
    let content: StoredLogin.Content
    do throws(SecretProblem) {
      switch granted {
      case .none: return onEnd("there is nothing to be written")
      case .some(let token):
        content = try StoredLogin.encode(
          token, grantedKind, of: source, configured, salt: Self.random(), mustLock: mustLock)
      }
    } catch {
      return onEnd(error.sentence)
    }
    beside.run { () -> String? in
      StateDirectory.make(for: path)
      do throws(SystemError) { try content.write(path) } catch { return "\(error)" }
      return nil
    } onEnd: { [weak self] problem in
      guard let self else { return }
      guard let problem else { return onEnd("the system has no thread to write \(path) with") }
      if problem == nil {
        self.content = content
        granted = nil
      }
      onEnd(problem)
    }
  }

  static func random() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: .min ... .max) } }
}
