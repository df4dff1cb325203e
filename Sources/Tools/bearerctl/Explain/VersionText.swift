internal import Gateway
internal import Policy

extension VersionChoice {
  /// The HTTP version of the request to the upstream, and why.
  var text: String {
    switch self {
    case .ofUpstream: "2 or 1.1, as the upstream selects in the TLS handshake (protocol: auto)"
    case .configured(.http1): "1.1, because of protocol: http1"
    case .configured(.http2): "2, because of protocol: http2"
    case .withoutTLS: "1.1, because the upstream has no TLS (protocol: auto)"
    case .upgrade: "1.1, because the request asks for an upgrade"
    case .login: "1.1, because a login by NTLM or Negotiate applies to the whole connection"
    case .dedicated: "1.1, because of dedicated_connections: true"
    case .challenge: "1.1, because this credential is sent only if the upstream asks for it"
    }
  }
}

extension NegotiatedVersion.Cause {
  /// A sentence about the last connection of the daemon. `nil` if it says nothing new.
  /// - Parameter version: the version of the last connection, `1.1` or `2`.
  func sentence(_ version: String) -> String? {
    switch self {
    case .configured: nil
    case .selected: "the upstream selected \(version) for the last connection"
    case .notSelected: "the upstream selected none for the last connection, so bearerd used \(version)"
    case .required: "now \(version), because the upstream requires it (HTTP_1_1_REQUIRED), until the next reload"
    }
  }
}
