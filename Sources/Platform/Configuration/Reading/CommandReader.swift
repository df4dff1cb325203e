internal import Policy
internal import Settings

/// Reads `command` of a source: a program that prints the secret (T42).
struct CommandReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<SourceKey>
  let use: SecretUse

  private static let shortestTimeToLive: UInt64 = 1_000

  func source(_ node: YAMLNode) -> SecretSource? {
    let timeToLive = timeToLive()
    let timeout = duration(.timeout, of: fields, "requests have to wait for the secret") ?? SourceKey.timeoutDefault
    let format = CommandFormatReader(context: context, fields: fields, use: use).format()
    let passed = PassedVariablesReader(context: context).names(fields)
    guard let words = words(node), let first = words.first, let path = program(first) else { return nil }
    var arguments: [String] = []
    for (index, word) in words.enumerated().dropFirst() {
      guard let text = scalar(word, "an argument") else { return nil }
      if SecretGuess.isLikely(text, after: words[index - 1].text ?? "") {
        report.warning(
          word.location,
          "this argument looks like a secret, and every user of this machine can see the arguments of programs",
          help: "let the program read the secret from a file that only the daemon can read")
      }
      arguments.append(text)
    }
    guard let format, let passed else { return nil }
    let command = SecretCommand(
      words: [path] + arguments, format: format, timeToLive: timeToLive, timeout: timeout, passedVariables: passed)
    return use.role == .user && format.providesUserName ? .userOfCommand(command) : .command(command)
  }

  private func words(_ node: YAMLNode) -> [YAMLNode]? {
    if case .scalar = node.content, !node.isAbsent {
      return report.error(
        node.location, "a command must be a list of words, because bearerd uses no shell",
        help: "write command: [/path/of/program, argument]")
    }
    return filledList(node, of: "a program's path and its arguments")
  }

  private func program(_ node: YAMLNode) -> String? {
    guard let path = text(node, "the path of a program") else { return nil }
    guard path.hasPrefix("/") else {
      return report.error(
        node.location, "this is not an absolute path, and bearerd does not search PATH for programs",
        help: "\"command -v NAME\" in a shell prints the path")
    }
    context.namedFiles.add(path, .program, at: node.location)
    return path
  }

  private func timeToLive() -> UInt64? {
    guard let node = fields[.ttl] else { return SourceKey.ttlDefault }
    guard let time = optionalDuration(node) else { return nil }
    if let time, time < Self.shortestTimeToLive { report.error(node.location, "\"ttl\" must be at least 1s") }
    return time
  }
}
