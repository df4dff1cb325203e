internal import Credentials
internal import OAuth
internal import Secrets
internal import System
internal import Transport

/// The login of one credential, where it outlives the process: read once, written each time that the server gives another
/// refresh token, or a person logs in.
final class TokenLogin {
  let source: TokenSource
  private let blocking: BlockingTasks
  private var content: StoredLogin.Content?
  private var isRead: Bool
  /// Granted, and not on disk yet.
  private var granted: Secret?
  private var grantedKind = StoredLogin.Kind.refreshToken
  /// Whether a stored access token has been taken: a second request for it means that it is worth nothing.
  private var isSpent = false
  /// With which the server was asked; and the configured ones, which say whose login this is.
  private var asked: TokenSecrets?
  private var configured: TokenSecrets?
  /// The file is being written, and who waits for that.
  private var isWriting = false
  private var writers: [() -> Void] = []

  init(_ source: TokenSource, blocking: BlockingTasks) {
    self.source = source
    self.blocking = blocking
    isRead = source.store == nil
  }

  /// Reads the file, if that has not been done. `onEnd` is called once, perhaps at once; with what is wrong.
  func read(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard !isRead, let path = source.store else { return onEnd(nil) }
    blocking.run { () -> Result<StoredLogin.Content?, SystemError> in
      do throws(SystemError) {
        return .success(try StoredLogin.Content.read(path, mustLock: mustLock))
      } catch {
        return .failure(error)
      }
    } onEnd: { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let content):
        // A login meanwhile has set the content already.
        if !isRead { self.content = content }
        isRead = true
        onEnd(nil)
      case .failure(let problem): onEnd("\(path) cannot be used: \(problem)")
      case nil: onEnd("bearerd cannot start a thread to read \(path)")
      }
    }
  }

  /// The login is over, whatever the configuration names as the first token.
  enum Over: Error {
    /// The credential was logged out.
    case loggedOut
    /// The server has refused the refresh token, perhaps before this start.
    case refused
  }

  /// The secrets of the next request: what the configuration names, and the kept refresh token in the place of the first one.
  /// - Throws: `SecretProblem`, or `Over`.
  func secrets(from keyring: Keyring) throws -> TokenSecrets {
    guard let content else {
      let secrets = try keyring.tokenSecrets(of: source)
      (asked, configured) = (secrets, secrets)
      return secrets
    }
    let (secrets, configured) = (try keyring.keptTokenSecrets(of: source), try keyring.keptTokenSecrets(of: source))
    (asked, self.configured) = (secrets, configured)
    if let login = try StoredLogin.decode(content, of: source, configured, in: keyring.tokenValues.arena) {
      switch login.kind {
      case .refreshToken: login.put(into: secrets)
      case .accessToken: break
      case .ended: throw Over.loggedOut
      case .refused: throw Over.refused
      }
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

  /// Takes what the server has granted beside a token.
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
    guard let path = source.store, let configured else { return onEnd("there is nothing to store") }
    let content: StoredLogin.Content
    do throws(SecretProblem) {
      switch granted {
      case .none: return onEnd("there is nothing to store")
      case .some(let token):
        content = try StoredLogin.encode(
          token, grantedKind, of: source, configured, salt: Self.random(), mustLock: mustLock)
      }
    } catch {
      return onEnd(error.sentence)
    }
    write { () -> String? in
      StateDirectory.make(for: path)
      do throws(SystemError) { try content.write(path) } catch { return "\(error)" }
      return nil
    } onEnd: { [weak self] problem in
      guard let self else { return }
      guard let problem else { return onEnd("bearerd cannot start a thread to write \(path)") }
      if problem == nil {
        self.content = content
        isRead = true
        granted = nil
      }
      onEnd(problem)
    }
  }

  /// One after the other: what is written last has to be what was wanted last.
  private func write<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void) {
    let start = { [weak self, blocking] in
      blocking.run(work) { value in
        onEnd(value)
        self?.writeNext()
      }
    }
    if isWriting { return writers.append(start) }
    isWriting = true
    start()
  }

  private func writeNext() {
    if writers.isEmpty { return isWriting = false }
    writers.removeFirst()()
  }

  // MARK: its end

  /// The server takes the refresh token no more (`invalid_grant`): what is written in its place keeps the next start from showing
  /// it again. `onEnd` is called once, on a later turn or at once, with what is wrong.
  func refuse(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard let path = source.store, let configured,
      let end = try? StoredLogin.encodeEnd(.refused, of: source, configured, salt: Self.random(), mustLock: mustLock)
    else { return onEnd(nil) }
    asked = nil
    content = end
    isRead = true
    write { () -> String? in
      StateDirectory.make(for: path)
      do throws(SystemError) { try end.write(path) } catch { return "\(error)" }
      return nil
    } onEnd: {
      onEnd($0 ?? "bearerd cannot start a thread to write \(path)")
    }
  }

  /// The token that the server knows, once the file has been read: the last refresh token that it gave, or what it gave in its
  /// place, else the first one; nil: there is none.
  func token(from keyring: Keyring) -> (kind: TokenRequest.RevokedToken, token: Withdrawn)? {
    switch granted.take() {
    case .some(let token): return (grantedKind == .refreshToken ? .refreshToken : .accessToken, Withdrawn(token))
    case .none: break
    }
    guard let content,
      let login = try? StoredLogin.decode(content, of: source, first(from: keyring), in: keyring.tokenValues.arena)
    else { return (.refreshToken, Withdrawn(keyring.firstToken(of: source))) }
    let kind = login.kind
    return (kind == .refreshToken ? .refreshToken : .accessToken, Withdrawn(login.withdraw()))
  }

  /// Writes into the file that the credential was logged out, or removes it where that cannot be written. `onEnd` is called
  /// once,
  /// on a later turn or at once, with what is wrong: then a login may still be there, or the next start begins with the first
  /// token again.
  func end(with keyring: Keyring, mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard let path = source.store else { return onEnd(nil) }
    granted = nil
    let end = try? StoredLogin.encodeEnd(of: source, first(from: keyring), salt: Self.random(), mustLock: mustLock)
    (asked, configured) = (nil, nil)
    content = end
    isRead = true
    let isByLogin = source.isByLogin
    write { () -> String? in
      StateDirectory.make(for: path)
      do throws(SystemError) {
        guard let end else { throw SystemError(operation: "memory", errno: 0) }
        try end.write(path)
        return nil
      } catch {
        let why = "the logout cannot be written to \(path) (\(error))"
        do throws(SystemError) {
          try PrivateFile.remove(path)
          // Then there is nothing to begin with.
          return isByLogin
            ? nil : "\(why). The login was deleted, so the next start uses the configured refresh token"
        } catch {
          return "\(why), and the file cannot be removed (\(error)): remove it yourself"
        }
      }
    } onEnd: {
      onEnd($0 ?? "bearerd cannot start a thread to write \(path): remove it")
    }
  }

  /// The configured first token alone; if it cannot be read just now, the one that was there when the server was asked.
  private func first(from keyring: Keyring) -> TokenSecrets {
    let secrets = TokenSecrets()
    switch keyring.firstToken(of: source) {
    case .some(let first): secrets.put(.refreshToken, first)
    case .none: return configured ?? secrets
    }
    return secrets
  }

  static func random() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: .min ... .max) } }
}
