internal import Console

import Policy

extension Grant {
  /// After which answers a request would go out once more, and what would be done before, in lines; none: after none.
  var secondTryLines: [String] {
    guard let replayBuffer else { return [] }
    let body = replayBuffer == 0 ? "without a body" : "with a body of at most \(Self.size(replayBuffer))"
    let cause: String
    switch authRetry {
    case .expiry: cause = "after \(expiry.text), bearerd fetches a new value"
    case .digest: cause = "bearerd responds to a Digest challenge"
    case .registry(let realm): cause = "bearerd responds to a challenge with a token of \(realm)"
    case .awaited(let scheme):
      return [
        "bearerd first sends the request without the credential. After a 401 that",
        "asks for \(scheme.rawValue), it sends the request again with the credential (\(body))",
      ]
    }
    return ["\(cause)", "and sends the request again (\(body))"]
  }

  private static func size(_ bytes: Int) -> String {
    bytes % 1024 == 0 ? "\(bytes / 1024)KiB" : "\(bytes) bytes"
  }
}

extension ExpirySigns {
  /// Values stay out: a configuration's other `value`s are secrets.
  fileprivate var text: String {
    let others = more.map { sign in
      let place = sign.field.map { field in
        " with a matching " + field.path.map { String(decoding: $0, as: UTF8.self).harmless }.joined(separator: ".")
      }
      return "\(sign.status)\(place ?? "")"
    }
    return (["401"] + others).joined(separator: " or ")
  }
}
