internal import Policy

/// `include`: further files, with listeners, credentials and services of their own.
extension SettingsReader {
  private static let mostFiles = 4_096
  private static let mostBytes = 16 << 20
  /// The keys of an included file. What is about the daemon as a whole stands in the main file.
  private static let parts: [TopKey] = [.listeners, .credentials, .services]

  /// Returns the main file's root with what the files have that it includes. What is wrong with them is reported.
  func withIncludedFiles(_ root: YAMLNode) -> YAMLNode {
    guard case .mapping(let entries) = root.content,
      let include = entries.first(where: { $0.name == TopKey.include.rawValue && !$0.isRefused })
    else { return root }
    var merged = MergedEntries(entries, report: report)
    var seen: Set<String> = [file]
    var bytes = 0
    for (path, place) in includedPaths(include.value) where seen.insert(path).inserted {
      guard seen.count <= Self.mostFiles else {
        report.error(place, "more than \(Self.mostFiles) files are included")
        break
      }
      switch environment.files.text(path) {
      case .failure(let problem): report.error(place, "\(path) cannot be read: \(problem.message)")
      case .success(let text):
        bytes += text.count
        guard bytes <= Self.mostBytes else {
          report.error(place, "the included files are larger than \(Self.mostBytes >> 20) MiB together")
          return merged.root(at: root)
        }
        for entry in entriesOfIncluded(text, path) { merged.add(entry) }
      }
    }
    return merged.root(at: root)
  }

  /// Each path with the place of the pattern that it matches.
  private func includedPaths(_ node: YAMLNode) -> [(path: String, place: TextLocation)] {
    let nodes = list(node, of: "paths, such as conf.d/*.yaml") ?? []
    return nodes.flatMap { node -> [(path: String, place: TextLocation)] in
      guard path(node, "a path, such as conf.d/*.yaml") != nil, let pattern = node.text else { return [] }
      switch environment.files.matching(pattern, directory(of: file)) {
      case .success(let paths): return paths.map { ($0, node.place) }
      case .failure(let problem):
        report.error(node.place, "the files of \(pattern) cannot be listed: \(problem.message)")
        return []
      }
    }
  }

  /// The entries of one file; none if it says nothing.
  private func entriesOfIncluded(_ text: [UInt8], _ path: String) -> [YAMLEntry] {
    let text = withoutMark(text)
    let index = report.addFile(path, text)
    checkConfigurationFile(path, at: TextLocation(file: index))
    guard let root = YAMLDocument.read(text, report: report, file: index) else {
      report.hideValues(ofFile: index)
      return []
    }
    report.hideSecrets(of: root, inFile: index)
    guard case .mapping(let entries) = root.content else {
      if !root.isAbsent {
        report.error(root.place, "this is not a mapping: expected the keys \(listed(Self.parts.map(\.rawValue)))")
      }
      return []
    }
    return entries.filter { entry in
      guard let key = TopKey(rawValue: entry.name), !entry.isRefused, !Self.parts.contains(key) else { return true }
      report.error(
        entry.key.place, "\"\(entry.name)\" is only allowed in the main file",
        help: "move it to \(file). An included file can have only \(listed(Self.parts.map(\.rawValue)))")
      return false
    }
  }
}

/// The top entries of several files: mappings under the same key become one.
private struct MergedEntries {
  /// A key of which there are several mappings.
  private struct Part {
    var entries: [YAMLEntry]
    /// The places of the names.
    var places: [String: TextLocation]

    init(_ entries: [YAMLEntry]) {
      self.entries = entries
      places = Dictionary(entries.map { ($0.name, $0.key.place) }, uniquingKeysWith: { first, _ in first })
    }

    mutating func add(_ entry: YAMLEntry, _ report: Report) {
      var entry = entry
      if let other = places[entry.name], !entry.isRefused {
        let place = report.line(other, seenFrom: entry.key.place)
        report.error(
          entry.key.place, "this name is already used on \(place)",
          help: "choose another name for one of the two")
        entry.isRefused = true
      } else {
        places[entry.name] = entry.key.place
      }
      entries.append(entry)
    }
  }

  private var entries: [YAMLEntry]
  private let report: Report
  private var parts: [String: Part] = [:]

  init(_ entries: [YAMLEntry], report: Report) {
    self.entries = entries
    self.report = report
  }

  mutating func add(_ entry: YAMLEntry) {
    // The reader reports what is no mapping, and what is unknown.
    guard !entry.isRefused, case .mapping(let more) = entry.value.content,
      let first = entries.first(where: { $0.name == entry.name && !$0.isRefused }),
      case .mapping(let known) = first.value.content
    else { return entries.append(entry) }
    for new in more { parts[entry.name, default: Part(known)].add(new, report) }
  }

  func root(at root: YAMLNode) -> YAMLNode {
    let merged = entries.map { entry in
      guard !entry.isRefused, let part = parts[entry.name] else { return entry }
      let value = YAMLNode(content: .mapping(part.entries), place: entry.value.place, stretch: entry.value.stretch)
      return YAMLEntry(key: entry.key, name: entry.name, value: value)
    }
    return YAMLNode(content: .mapping(merged), place: root.place, stretch: root.stretch)
  }
}
