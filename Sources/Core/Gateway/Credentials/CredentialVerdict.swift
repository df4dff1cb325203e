/// The verdict of an upstream's answer on the credential that the request carried.
package enum CredentialVerdict: Equatable, Sendable {
  /// 101, 2xx, 304: it was good.
  case accepted
  /// 401, 407: it was not.
  case rejected
  /// 403: mostly said of this one request, by some of the account.
  case forbidden

  /// nil: the status says nothing. A 404 or a 500 may come from a server that never looked at the credential.
  package init?(status: Int) {
    switch status {
    case 101, 200..<300, 304: self = .accepted
    case 401, 407: self = .rejected
    case 403: self = .forbidden
    default: return nil
    }
  }
}
