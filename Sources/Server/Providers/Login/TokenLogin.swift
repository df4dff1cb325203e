internal import Credentials
internal import OAuth
internal import Secrets
internal import Settings
internal import System
internal import Transport

/// The stored login of one credential, and its file.
final class TokenLogin {
  let source: TokenSource
  private let blocking: BlockingTasks
  private var content: StoredLogin.Content?
  private var isRead: Bool
  /// A granted token that is not on disk yet.
  private var granted: Secret?
  private var grantedKind = StoredLogin.Kind.refreshToken
  /// Whether the stored access token was already returned.
  private var isStoredTokenUsed = false
  private var requestSecrets: TokenSecrets?
  private var configured: TokenSecrets?
  /// Whether the file is being written.
  private var isWriting = false
  private var pendingWrites: [() -> Void] = []

  init(_ source: TokenSource, blocking: BlockingTasks) {
    self.source = source
    self.blocking = blocking
    isRead = source.store == nil
  }

  /// Reads the file, unless it has been read. Calls `onEnd` once, perhaps within this call, with a problem or `nil`.
  func read(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard !isRead, let path = source.store else { return onEnd(nil) }
    blocking.run {
      Result { () throws(SystemError) in try StoredLogin.Content.read(path, mustLock: mustLock) }
    } onEnd: { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let content):
        // A login during the read has already set the content.
        if !isRead { self.content = content }
        isRead = true
        onEnd(nil)
      case .failure(let problem): onEnd("\(path) cannot be used: \(problem)")
      case nil: onEnd("bearerd cannot start a thread to read \(path)")
      }
    }
  }

  /// Takes over a login that only the memory has, when a reload has changed the settings of its credential.
  func inherit(_ earlier: TokenLogin) {
    guard source.keepsLoginInMemory, earlier.source.keepsLoginInMemory, content == nil else { return }
    content = earlier.content
  }

  /// Thrown by `secrets(from:)` if the stored login has ended.
  enum Ended: Error {
    case loggedOut
    /// The server has refused the refresh token, perhaps before the daemon's last start.
    case refused
  }

  /// Returns the secrets for the next token request. A stored refresh token replaces the configured one.
  func secrets(from keyring: Keyring) throws -> TokenSecrets {
    guard let content else {
      let secrets = try keyring.tokenSecrets(of: source)
      (requestSecrets, configured) = (secrets, secrets)
      return secrets
    }
    let secrets = try keyring.tokenSecrets(of: source, isForLogin: true)
    let configured = try keyring.tokenSecrets(of: source, isForLogin: true)
    (requestSecrets, self.configured) = (secrets, configured)
    if let login = try StoredLogin.decode(content, of: source, configured, in: keyring.tokenValues.arena) {
      switch login.kind {
      case .refreshToken: login.put(into: secrets)
      case .accessToken: break
      case .loggedOut: throw Ended.loggedOut
      case .refused: throw Ended.refused
      }
    }
    return secrets
  }

  /// Returns the stored access token, but only once. `nil` if there is none.
  func storedToken(from keyring: Keyring) throws(SecretProblem) -> TokenGrant? {
    guard let content, !isStoredTokenUsed else { return nil }
    isStoredTokenUsed = true
    let configured = try keyring.tokenSecrets(of: source, isForLogin: true)
    guard let login = try StoredLogin.decode(content, of: source, configured, in: keyring.tokenValues.arena) else {
      return nil
    }
    return login.grant(now: Clock.now.seconds)
  }

  /// Adopts a person's new login.
  /// - Returns: Whether `store` must be called.
  func adopt(_ new: NewLogin, in arena: SecretArena) throws(SecretProblem) -> Bool {
    guard source.keepsLogin else { return false }
    if let token = new.refresh.take() {
      granted = consume token
      grantedKind = .refreshToken
    } else {
      let copy = try new.access.withValue { (token) throws(SecretProblem) in try token.copy(in: arena) }
      guard let copy else { return false }
      granted = consume copy
      grantedKind = .accessToken(until: new.expiry)
    }
    (configured, isStoredTokenUsed) = (new.secrets, true)
    return true
  }

  /// Sets the refresh token that the server has granted.
  /// - Returns: Whether `store` must be called.
  func setGranted(_ refreshToken: consuming Secret?) -> Bool {
    defer { requestSecrets = nil }
    guard source.keepsLogin, let refreshToken else { return false }
    if requestSecrets?.matchesRefreshToken(refreshToken) == true { return false }
    granted = consume refreshToken
    grantedKind = .refreshToken
    return true
  }

  /// Writes the granted token to the file. Calls `onEnd` once, perhaps within this call, with a problem or `nil`. After
  /// a problem, the token is kept, and `store` can be called again.
  func store(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard source.keepsLogin, let configured else { return onEnd("there is nothing to store") }
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
    write(content) { [weak self] problem in
      guard let self else { return }
      if problem == nil {
        self.content = content
        isRead = true
        granted = nil
      }
      onEnd(problem)
    }
  }

  private func write(_ content: StoredLogin.Content, onEnd: @escaping (String?) -> Void) {
    let path = source.store
    write { () -> String? in
      guard let path else { return nil }
      StateDirectory.create(for: path)
      do throws(SystemError) { try content.write(path) } catch { return "\(error)" }
      return nil
    } onEnd: {
      onEnd($0 ?? "bearerd cannot start a thread to write \(path ?? "the login")")
    }
  }

  /// Runs one write at a time, so that the last requested content is written last.
  private func write<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void) {
    let start = { [weak self, blocking] in
      blocking.run(work) { value in
        onEnd(value)
        self?.writeNext()
      }
    }
    if isWriting { return pendingWrites.append(start) }
    isWriting = true
    start()
  }

  private func writeNext() {
    if pendingWrites.isEmpty { return isWriting = false }
    pendingWrites.removeFirst()()
  }

  // MARK: end of the login

  /// Records in the file that the server rejected the refresh token. Calls `onEnd` once, perhaps within this call, with
  /// a problem or `nil`.
  func markRefused(mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard source.keepsLogin, let configured,
      let end = try? StoredLogin.encodeEndMarker(
        .refused, of: source, configured, salt: Self.random(), mustLock: mustLock)
    else { return onEnd(nil) }
    requestSecrets = nil
    content = end
    isRead = true
    write(end, onEnd: onEnd)
  }

  /// Returns the token to revoke, in a box that is empty if there is none. The file must have been read.
  func token(from keyring: Keyring) -> (kind: TokenRequest.RevokedToken, token: TokenBox)? {
    if let token = granted.take() {
      return (grantedKind == .refreshToken ? .refreshToken : .accessToken, TokenBox(token))
    }
    guard let content,
      let login = try? StoredLogin.decode(content, of: source, first(from: keyring), in: keyring.tokenValues.arena)
    else { return (.refreshToken, TokenBox(keyring.firstToken(of: source))) }
    let kind = login.kind
    return (kind == .refreshToken ? .refreshToken : .accessToken, TokenBox(login.withdraw()))
  }

  /// Records the logout in the file. Calls `onEnd` once, perhaps within this call, with a problem or `nil`.
  func markLoggedOut(with keyring: Keyring, mustLock: Bool, onEnd: @escaping (String?) -> Void) {
    guard source.keepsLogin else { return onEnd(nil) }
    let path = source.store
    granted = nil
    let end = try? StoredLogin.encodeEndMarker(
      of: source, first(from: keyring), salt: Self.random(), mustLock: mustLock)
    (requestSecrets, configured) = (nil, nil)
    content = end
    isRead = true
    let isByLogin = source.isByLogin
    write { () -> String? in
      guard let path else { return nil }
      StateDirectory.create(for: path)
      do throws(SystemError) {
        guard let end else { throw SystemError(operation: "memory", errno: 0) }
        try end.write(path)
        return nil
      } catch {
        let why = "the logout cannot be written to \(path) (\(error))"
        do throws(SystemError) {
          try PrivateFile.remove(path)
          // Without the file, the next start has no login.
          return isByLogin
            ? nil : "\(why). The login was deleted, so the next start uses the configured refresh token"
        } catch {
          return "\(why), and the file cannot be removed (\(error)): remove it yourself"
        }
      }
    } onEnd: {
      onEnd($0 ?? "bearerd cannot start a thread to write \(path.map { "\($0): remove it" } ?? "the login")")
    }
  }

  /// Returns the secrets with the configured first refresh token, or those of the last request if it cannot be read.
  private func first(from keyring: Keyring) -> TokenSecrets {
    let secrets = TokenSecrets()
    guard let first = keyring.firstToken(of: source) else { return configured ?? secrets }
    secrets.put(.refreshToken, first)
    return secrets
  }

  static func random() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: .min ... .max) } }
}
