internal import Console

import Policy

extension Grant {
  /// Lines that say after which responses bearerd sends a request again; empty if it never does.
  var authRetryLines: [String] {
    guard let replayBuffer else { return [] }
    let limit = replayBuffer % 1024 == 0 ? "\(replayBuffer / 1024)KiB" : "\(replayBuffer) bytes"
    let body = replayBuffer == 0 ? "without a body" : "with a body of at most \(limit)"
    let cause: String
    switch authRetry {
    case .expiry: cause = "after \(expiry.text), bearerd fetches a new value"
    case .digest: cause = "bearerd responds to a Digest challenge\(authRetry.place)"
    case .registry(let realm): cause = "bearerd responds to a challenge with a token of \(realm)"
    case .challenged(let scheme, _):
      return [
        "bearerd first sends the request without the credential. After a 401 that",
        "asks for \(scheme.rawValue)\(authRetry.place), it sends the request again with the credential (\(body))",
      ]
    }
    return ["\(cause)", "and sends the request again (\(body))"]
  }
}

extension AuthRetryReason {
  /// The required realm of a challenge, as in ` in the realm "private"`; empty for any realm.
  package var place: String {
    realm.map { " in the realm \"\(String(decoding: $0, as: UTF8.self).harmless)\"" } ?? ""
  }
}

extension ExpirySigns {
  /// Signs of an expired credential, without values, as in `401 or 400 with a matching error`.
  fileprivate var text: String {
    let others = more.map { sign in
      let suffix = sign.field.map { field in
        " with a matching " + field.path.map { String(decoding: $0, as: UTF8.self).harmless }.joined(separator: ".")
      }
      return "\(sign.status)\(suffix ?? "")"
    }
    return (["401"] + others).joined(separator: " or ")
  }
}
