internal import Console

import Policy

extension Grant {
  /// After which answers a request would go out once more, and what would be done before, in lines; none: after none.
  var secondTryLines: [String] {
    guard let replayBuffer else { return [] }
    let body = replayBuffer == 0 ? "without a body" : "with a body of at most \(Self.size(replayBuffer))"
    let cause: String
    switch authRetry {
    case .expiry: cause = "after \(expiry.text) another value would be fetched"
    case .digest: cause = "a challenge for Digest would be met"
    case .registry(let realm): cause = "a challenge would be met with a token of \(realm)"
    case .awaited(let scheme):
      return [
        "the request would go out without it first, and, after a 401",
        "that challenges for \(scheme.rawValue), once more with it (\(body))",
      ]
    }
    return ["\(cause),", "and the request sent once more (\(body))"]
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
        " whose " + field.path.map { String(decoding: $0, as: UTF8.self).harmless }.joined(separator: ".") + " says so"
      }
      return "\(sign.status)\(place ?? "")"
    }
    return (["401"] + others).joined(separator: " or ")
  }
}
