internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy
internal import System

/// Notices changed secret files, and has the keyring read them again: the next request goes out with the new one.
final class SecretWatch {
  private let watch: DirectoryWatch?
  private var source: ReadableSource?
  private unowned let worker: Worker

  init(worker: Worker) {
    self.worker = worker
    do throws(SystemError) {
      watch = try DirectoryWatch()
    } catch {
      watch = nil
      worker.journal.event(.warning, "secrets-not-watched", ("detail", "reload after a change: \(error)"))
    }
    guard let watch else { return }
    do throws(UVError) {
      source = try ReadableSource(loop: worker.loop, descriptor: watch.descriptor) { [unowned self] in changed() }
    } catch {
      worker.journal.event(.warning, "secrets-not-watched", ("detail", "reload after a change: \(error)"))
    }
  }

  /// Watches the directories of this generation's secrets, and no others.
  func follow(_ generation: Generation) {
    guard let watch else { return }
    watch.removeAll()
    for directory in generation.keyring.directories {
      do throws(SystemError) {
        try watch.add(directory: directory)
      } catch {
        worker.journal.event(.warning, "secrets-not-watched", ("directory", directory), ("detail", error.description))
      }
    }
  }

  func close() {
    source?.close()
    source = nil
  }

  private func changed() {
    guard let watch else { return }
    let directories = Set(watch.changes().map(\.directory))
    guard !directories.isEmpty else { return }
    let generation = worker.generation
    let changed = generation.keyring.reload(directories: directories)
    for index in changed {
      let status = generation.keyring.status(ofGrant: index)
      worker.journal.event(
        status.problem == nil ? .notice : .warning, "credential-changed",
        ("credential", generation.snapshot.rules.grants[index].name),
        ("credential_generation", String(status.generation)),
        ("problem", status.problem ?? "none"))
    }
    // A symlink may lead somewhere else now.
    follow(generation)
  }
}

extension Keyring {
  /// What a person should know of the credentials when a generation begins.
  func report(to journal: Journal, of generation: Generation) {
    if !isLocked {
      journal.event(
        .warning, "memory-not-locked", ("detail", "secrets could reach the swap; raise LimitMEMLOCK (ulimit -l)"))
    }
    for index in 0..<grantCount {
      guard let problem = status(ofGrant: index).problem else { continue }
      journal.event(
        .warning, "credential-unavailable", ("credential", generation.snapshot.rules.grants[index].name),
        ("detail", problem))
    }
  }
}
