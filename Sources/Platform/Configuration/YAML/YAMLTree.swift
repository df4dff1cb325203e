/// Builds a tree from the events of the parser.
struct YAMLTree {
  let report: Report

  func read(_ parser: inout YAMLParser) throws(YAMLFailure) -> YAMLNode? {
    var root: YAMLNode?
    while true {
      let event = try parser.next()
      switch event.kind {
      case .streamEnd:
        return root
      case .documentStart where root != nil:
        throw YAMLFailure(
          location: event.location, message: "the file has a second document",
          help: "delete the --- line: a file can have only one configuration")
      case .documentStart:
        root = try node(parser.next(), &parser, level: 1)
      case .end, .alias, .scalar, .sequenceStart, .mappingStart:
        continue
      }
    }
  }

  private func node(_ event: YAMLEvent, _ parser: inout YAMLParser, level: Int) throws(YAMLFailure) -> YAMLNode {
    refuse(event)
    switch event.kind {
    case .alias:
      report.error(
        event.location, "aliases (*name) are not allowed", help: "write the value itself")
      return make(.refused, event)
    case .scalar(let text, let isPlain):
      return make(.scalar(text, isPlain: isPlain), event)
    case .sequenceStart:
      try check(level, event)
      return try sequence(event, &parser, level: level)
    case .mappingStart:
      try check(level, event)
      return try mapping(event, &parser, level: level)
    // libyaml begins every node with one of the events above.
    case .end, .documentStart, .streamEnd:
      return make(.refused, event)
    }
  }

  private func sequence(_ start: YAMLEvent, _ parser: inout YAMLParser, level: Int) throws(YAMLFailure) -> YAMLNode {
    var nodes: [YAMLNode] = []
    while true {
      let event = try parser.next()
      if case .end = event.kind { return make(.sequence(nodes), start) }
      nodes.append(try node(event, &parser, level: level + 1))
    }
  }

  private func mapping(_ start: YAMLEvent, _ parser: inout YAMLParser, level: Int) throws(YAMLFailure) -> YAMLNode {
    var entries: [YAMLEntry] = []
    var lines: [String: Int] = [:]
    while true {
      let event = try parser.next()
      if case .end = event.kind { return make(.mapping(entries), start) }
      let key = try node(event, &parser, level: level + 1)
      let value = try node(parser.next(), &parser, level: level + 1)
      var entry = YAMLEntry(key: key, name: key.text ?? "", value: value)
      if let reason = refusal(of: key, lines) {
        report.error(key.location, reason.message, help: reason.help)
        entry.isRefused = true
      } else {
        lines[entry.name] = key.location.line
      }
      entries.append(entry)
    }
  }

  private func refusal(of key: YAMLNode, _ lines: [String: Int]) -> (message: String, help: String?)? {
    guard case .scalar(let name, let isPlain) = key.content else { return ("a key must be text", nil) }
    if name == "<<", isPlain {
      return ("merge keys (<<) are not allowed", "write the keys themselves")
    }
    // The message omits the key, which may be a secret. The caret points at it.
    return lines[name].map { ("duplicate key: it is already on line \($0)", "delete one of the two") }
  }

  private func refuse(_ event: YAMLEvent) {
    if event.hasAnchor {
      report.error(event.location, "anchors (&name) are not allowed", help: "write the value where it is needed")
    }
    if event.hasTag {
      report.error(event.location, "tags (!name) are not allowed", help: "delete the tag")
    }
  }

  private func check(_ level: Int, _ event: YAMLEvent) throws(YAMLFailure) {
    guard level > YAMLDocument.maxDepth else { return }
    throw YAMLFailure(
      location: event.location, message: "the file is nested more than \(YAMLDocument.maxDepth) levels deep")
  }

  private func make(_ content: YAMLNode.Content, _ event: YAMLEvent) -> YAMLNode {
    YAMLNode(content: content, location: event.location, range: event.range)
  }
}
