internal import Settings

/// Reads `include`: further files with listeners, credentials and services.
struct IncludeReader: SectionReader {
  let context: ReadingContext

  private static let maxFiles = 4_096
  private static let maxBytes = 16 << 20
  /// The keys that an included file may have.
  private static let parts: [TopKey] = [.listeners, .credentials, .services]

  private var mainFile: String { report.path(ofFile: 0) }

  /// Returns the root of the main file, merged with its included files.
  func merged(_ root: YAMLNode) -> YAMLNode {
    guard case .mapping(let entries) = root.content,
      let include = entries.first(where: { $0.name == TopKey.include.rawValue && !$0.isRefused })
    else { return root }
    var merged = MergedEntries(entries: entries, report: report)
    var seen: Set<String> = [mainFile]
    var bytes = 0
    for (path, location) in includedPaths(include.value) where seen.insert(path).inserted {
      guard seen.count <= Self.maxFiles else {
        report.error(location, "more than \(Self.maxFiles) files are included")
        break
      }
      switch environment.files.text(path) {
      case .failure(let problem): report.error(location, "\(path) cannot be read: \(problem.message)")
      case .success(let text):
        bytes += text.count
        guard bytes <= Self.maxBytes else {
          report.error(location, "the included files are larger than \(Self.maxBytes >> 20) MiB together")
          return merged.root(at: root)
        }
        for entry in entriesOfIncluded(text, path) { merged.add(entry) }
      }
    }
    return merged.root(at: root)
  }

  /// Returns the included paths, each with the location of its pattern.
  private func includedPaths(_ node: YAMLNode) -> [(path: String, location: TextLocation)] {
    let nodes = list(node, of: "paths, such as conf.d/*.yaml") ?? []
    return nodes.flatMap { node -> [(path: String, location: TextLocation)] in
      guard path(node, "a path, such as conf.d/*.yaml") != nil, let pattern = node.text else { return [] }
      switch environment.files.matching(pattern, directory(of: mainFile)) {
      case .success(let paths): return paths.map { ($0, node.location) }
      case .failure(let problem):
        report.error(node.location, "the files of \(pattern) cannot be listed: \(problem.message)")
        return []
      }
    }
  }

  private func entriesOfIncluded(_ text: [UInt8], _ path: String) -> [YAMLEntry] {
    let index = report.addFile(path, text)
    FileChecks(context: context).checkConfigurationFile(path, at: TextLocation(file: index))
    guard let root = YAMLDocument.read(text, report: report, file: index) else {
      report.maskValues(ofFile: index)
      return []
    }
    report.maskSecrets(of: root, inFile: index)
    guard case .mapping(let entries) = root.content else {
      if !root.isAbsent {
        report.error(root.location, "this is not a mapping: expected the keys \(listed(Self.parts.map(\.rawValue)))")
      }
      return []
    }
    return entries.filter { entry in
      guard let key = TopKey(rawValue: entry.name), !entry.isRefused, !Self.parts.contains(key) else { return true }
      report.error(
        entry.key.location, "\"\(entry.name)\" is only allowed in the main file",
        help: "move it to \(mainFile). An included file can have only \(listed(Self.parts.map(\.rawValue)))")
      return false
    }
  }
}

/// The top-level entries of several files, merged by key.
private struct MergedEntries {
  struct Part {
    var entries: [YAMLEntry]
    var locations: [String: TextLocation]

    init(_ entries: [YAMLEntry]) {
      self.entries = entries
      locations = Dictionary(entries.map { ($0.name, $0.key.location) }, uniquingKeysWith: { first, _ in first })
    }

    mutating func add(_ entry: YAMLEntry, _ report: Report) {
      var entry = entry
      if let other = locations[entry.name], !entry.isRefused {
        let line = report.line(other, seenFrom: entry.key.location)
        report.error(
          entry.key.location, "this name is already used on \(line)",
          help: "choose another name for one of the two")
        entry.isRefused = true
      } else {
        locations[entry.name] = entry.key.location
      }
      entries.append(entry)
    }
  }

  var entries: [YAMLEntry]
  let report: Report
  var parts: [String: Part] = [:]

  mutating func add(_ entry: YAMLEntry) {
    // The reader later reports values that are not mappings, and unknown keys.
    guard !entry.isRefused, case .mapping(let more) = entry.value.content,
      let first = entries.first(where: { $0.name == entry.name && !$0.isRefused }),
      case .mapping(let known) = first.value.content
    else { return entries.append(entry) }
    for new in more { parts[entry.name, default: Part(known)].add(new, report) }
  }

  func root(at root: YAMLNode) -> YAMLNode {
    let merged = entries.map { entry in
      guard !entry.isRefused, let part = parts[entry.name] else { return entry }
      let value = YAMLNode(content: .mapping(part.entries), location: entry.value.location, range: entry.value.range)
      return YAMLEntry(key: entry.key, name: entry.name, value: value)
    }
    return YAMLNode(content: .mapping(merged), location: root.location, range: root.range)
  }
}
