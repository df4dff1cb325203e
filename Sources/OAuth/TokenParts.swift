@_spi(SecretBytes) package import Credentials

// What is granted or stored, taken apart by whoever holds it: no other module can.

extension TokenGrant {
  /// Puts both tokens where they are held from now on.
  package consuming func take(access: inout Secret?, refresh: inout Secret?) {
    access = consume accessToken
    refresh = consume refreshToken
  }
}

extension StoredLogin {
  /// The request is to be made with this refresh token, whatever the configured first one is.
  /// - Returns: false: there is none, as somebody has logged out.
  package consuming func put(into secrets: TokenSecrets) -> Bool {
    switch consume refreshToken {
    case .some(let token):
      secrets.put(.refreshToken, token)
      return true
    case .none: return false
    }
  }

  /// Nothing else stays of it; nil: somebody has logged out.
  package consuming func token() -> Secret? { consume refreshToken }
}

extension TokenSecrets {
  /// Whether a server has granted the refresh token again that it was asked with.
  package func isAskedWith(_ refreshToken: borrowing Secret) -> Bool {
    refreshToken.withBytes { granted in
      withBytes(of: .refreshToken) { $0.elementsEqual(granted) } ?? false
    }
  }
}
