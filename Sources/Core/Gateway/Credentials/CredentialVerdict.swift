/// The conclusion that an upstream's response allows about the credential in the request.
package enum CredentialVerdict: Equatable, Sendable {
  /// Status 101, 2xx or 304: the credential is valid.
  case accepted
  /// Status 401 or 407: the credential is invalid.
  case rejected
  /// Status 403: usually about this one request, but some upstreams use it for the whole account.
  case forbidden

  /// Returns `nil` if the status allows no conclusion, for example a 404 or a 500.
  package init?(status: Int) {
    switch status {
    case 101, 200..<300, 304: self = .accepted
    case 401, 407: self = .rejected
    case 403: self = .forbidden
    default: return nil
    }
  }
}
