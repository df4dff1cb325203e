internal import Console
internal import ArgumentParser
internal import Configuration
internal import Setup
internal import System

/// `bearerctl remove`
struct Remove: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a provider and its key that \"bearerctl add\" has added.",
    usage: "bearerctl remove NAME [--yes]",
    discussion: """
      Asks first. Then it removes the two files that "bearerctl add" wrote, and a running daemon forgets the key. The key itself \
      stays valid: revoke it at the provider if nothing else uses it.

        bearerctl remove openai

      Exits with 0 if it was removed, and with 1 if not.
      """)

  @Argument(help: "The name of the service.")
  var name: String

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    let home = ConfigurationHome(daemon.config)
    let part = home.part(name)
    guard ListenerSettings.isClientName(name), let text = try text(of: part) else {
      throw Failure(Failure.no, "there is no \(part.harmless): bearerctl add has written nothing of this name")
    }
    let origin = AddedFiles.origin(of: text)
    if case .foreign = origin {
      throw Failure(Failure.no, "\(part) was not written by bearerctl add: remove it yourself")
    }
    let files = [part, home.secret(name)].filter { FileStatus(path: $0) != nil }
    if !yes {
      let changed = if case .changed = origin { " It has been changed since it was added." } else { "" }
      let question = "Remove \(files.joined(separator: " and "))?\(changed)"
      guard Questions.confirm(question) else { throw Failure(Failure.no, "nothing was removed (--yes does not ask)") }
    }
    try remove(part, home)
  }

  private func text(of path: String) throws -> String? {
    do throws(SystemError) {
      return String(decoding: try FileReader.read(path: path, maximum: 1 << 20).bytes, as: UTF8.self)
    } catch {
      if error.isOfMissing { return nil }
      throw Failure(Failure.no, "\(path) cannot be read: \(error)")
    }
  }

  /// Only if the rest of the configuration can do without it.
  private func remove(_ part: String, _ home: ConfigurationHome) throws {
    // No pattern matches a name that begins with a dot.
    let aside = "\(home.parts)/.\(name).yaml.removed"
    do throws(SystemError) { try NewFile.move(part, to: aside) } catch {
      throw Failure(Failure.no, "\(part) cannot be removed: \(error)")
    }
    let settings: Settings
    do {
      settings = try Add.settings(home)
      if let problem = try RunningDaemon(settings, control: daemon.control)?.reload() {
        throw Failure(Failure.no, "the running daemon does not do without it:\n\(problem)\nNothing was removed")
      }
    } catch {
      try? NewFile.move(aside, to: part)
      throw error
    }
    let key = home.secret(name)
    let isUsed = settings.credentials.flatMap(\.allSources).contains { source in
      if case .file(let path) = source { RunningDaemon.areSame(path, key) } else { false }
    }
    if isUsed { Terminal.complain("bearerctl: \(key) stays: another credential reads it\n") }
    let keys = isUsed || FileStatus(path: key) == nil ? [] : [key]
    for file in [aside] + keys {
      do throws(SystemError) { try NewFile.remove(file) } catch {
        throw Failure(Failure.no, "\(file) cannot be removed: \(error)")
      }
    }
    StandardOutput.print(([part] + keys).map { "removed  \($0)\n" }.joined())
  }
}
