internal import Policy
internal import Settings

/// Reads `refresh_on`: the responses that mean an expired credential, in addition to 401.
struct RefreshOnReader: SectionReader {
  let context: ReadingContext

  private static let maxSigns = 16

  func signs(_ node: YAMLNode) -> [ExpirySigns.Sign] {
    let wanted = "responses like 419, or { status: 403, field: error, value: expired }"
    guard let nodes = filledList(node, of: wanted) else { return [] }
    guard nodes.count <= Self.maxSigns else {
      report.error(node.location, "\(nodes.count) responses are too many: at most \(Self.maxSigns) are allowed")
      return []
    }
    return nodes.compactMap { sign($0) }
  }

  private func sign(_ node: YAMLNode) -> ExpirySigns.Sign? {
    guard case .mapping = node.content else { return status(node).map { ExpirySigns.Sign(status: $0) } }
    guard let fields = fields(node, at: node.location, of: RefreshOnKey.self) else { return nil }
    guard
      let statusNode = required(
        .status, of: fields, "this response of \"refresh_on\" has no status", help: "add status: 403"),
      let status = status(statusNode)
    else { return nil }
    checkTogether(
      .field, .value, in: fields, help: "write both, as in { status: 403, field: error.code, value: expired }")
    guard let pathNode = fields[.field], let value = fields[.value] else { return ExpirySigns.Sign(status: status) }
    guard let path = jsonPath(pathNode, "the place of a field in the JSON"),
      let text = text(value, "the value of the field")
    else { return nil }
    return ExpirySigns.Sign(status: status, field: JSONFieldSign(path: path, value: text))
  }

  private func status(_ node: YAMLNode) -> Int? {
    guard let status = integer(node, in: RefreshOnKey.status.bounds) else { return nil }
    switch status {
    case 407, 408, 421, 425, 429:
      return report.error(
        node.location,
        "status \(status) does not mean an expired credential: a new credential would get the same response"
      )
    default: return status
    }
  }
}
