internal import Policy
internal import Settings

/// Reads `retry`: when bearerd sends a request again after an upstream failure.
struct RetryReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<RetryKey>

  /// - Parameter total: `timeouts.total` of the service, in milliseconds; `nil` for no limit.
  func policy(total: UInt64?) -> RetryPolicy {
    var policy = RetryPolicy()
    if let node = fields[.on] { policy = RetryPolicy(on: statuses(node)) }
    policy.attempts = integer(.attempts, of: fields) ?? policy.attempts
    policy.atMost = duration(.atMost, of: fields, "the program waits for all of this time") ?? policy.atMost
    policy.replayBuffer = size(.replayBuffer, of: fields) ?? policy.replayBuffer
    if let total, policy.atMost >= total {
      report.warning(
        fields.location(of: .atMost),
        "\"timeouts.total\" ends the request before \"at_most\", so the program may get 504 instead of the "
          + "upstream's response",
        help: "set at_most below timeouts.total")
    }
    return policy
  }

  private func statuses(_ node: YAMLNode) -> [Int] {
    let wanted = listed(RetryPolicy.allowedStatuses.map { "\($0)" })
    let nodes = filledList(node, of: "statuses: \(wanted)")
    return distinct(nodes) { node -> Int? in
      guard let text = text(node, wanted) else { return nil }
      guard let status = decimal(text), RetryPolicy.allowedStatuses.contains(status) else {
        return report.error(
          node.location, "\(quoted(text)) is not valid: expected \(wanted)",
          help: "bearerd retries only after statuses that mean a temporary failure")
      }
      return status
    }.map(\.value)
  }
}
