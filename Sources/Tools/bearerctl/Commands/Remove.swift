internal import Console
internal import ArgumentParser
internal import Configuration
internal import Settings
internal import System

struct Remove: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a provider that \"bearerctl add\" added, and its key.",
    usage: "bearerctl remove NAME [--yes]",
    discussion: """
      Asks, and then removes the two files that "bearerctl add" wrote. A running daemon forgets the key.

        bearerctl remove openai

      If you changed the service's file, your version stays as conf.d/NAME.yaml.removed. bearerd does not read it.

      The key stays valid at the provider. Revoke it there if nothing else uses it.

      Exits with 0 if the provider was removed, with 1 if not, and with 2 if the configuration would have errors \
      without the provider.
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
      throw Failure(Failure.no, "\(part.harmless) was not found: \"bearerctl add\" has added no service of this name")
    }
    let origin = AddedFiles.origin(of: text)
    if case .foreign = origin {
      throw Failure(Failure.no, "\(part) was not written by bearerctl add. Remove it yourself")
    }
    let isChanged = if case .changed = origin { true } else { false }
    let files = [part, home.secret(name)].filter { FileStatus(path: $0) != nil }
    if !yes {
      let note = isChanged ? " \(part) was changed after it was added. Your version stays as \(part).removed." : ""
      let question = "Remove \(files.joined(separator: " and "))?\(note)"
      guard Questions.confirm(question) else {
        throw Failure(Failure.no, "nothing was removed. --yes removes without asking")
      }
    }
    try remove(part, isChanged, home)
  }

  private func text(of path: String) throws -> String? {
    do throws(SystemError) {
      return String(decoding: try FileReader.read(path: path, maximum: 1 << 20).bytes, as: UTF8.self)
    } catch {
      if error.isNotFound { return nil }
      throw Failure(Failure.no, "\(path) cannot be read: \(error)")
    }
  }

  /// Removes the service and its key. Restores the service if the remaining configuration cannot be loaded.
  private func remove(_ part: String, _ isChanged: Bool, _ home: ConfigurationHome) throws {
    // `include` patterns do not match a name that begins with a dot.
    let aside = "\(home.parts)/.\(name).yaml.removed"
    do throws(SystemError) { try NewFile.move(part, to: aside) } catch {
      throw Failure(Failure.no, "\(part) cannot be removed: \(error)")
    }
    let settings: DaemonSettings
    do {
      settings = try Add.settings(home)
      if let problem = try RunningDaemon(settings, control: daemon.control)?.reload() {
        throw Failure(
          Failure.no,
          "the running daemon cannot load the configuration without this provider:\n\(problem)\nNothing was removed")
      }
    } catch {
      try? NewFile.move(aside, to: part)
      throw error
    }
    let key = home.secret(name)
    let isUsed = settings.credentials.flatMap(\.allSources).contains { source in
      if case .file(let path) = source { RunningDaemon.areSame(path, key) } else { false }
    }
    if isUsed { Terminal.printError("bearerctl: \(key) stays, because another credential uses it\n") }
    let keys = isUsed || FileStatus(path: key) == nil ? [] : [key]
    // A later "bearerctl add" would not restore the user's changes.
    let copy = "\(part).removed"
    for file in [aside] + keys {
      do throws(SystemError) {
        if file == aside, isChanged { try NewFile.move(aside, to: copy) } else { try NewFile.remove(file) }
      } catch {
        throw Failure(Failure.no, "\(file) cannot be removed: \(error)")
      }
    }
    StandardOutput.print(([part] + keys).map { "removed  \($0)\n" }.joined())
    if isChanged { StandardOutput.print("kept     \(copy), because you had changed this file\n") }
  }
}
