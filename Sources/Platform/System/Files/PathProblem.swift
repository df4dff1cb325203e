internal import Primitives

/// A step on the way to a file that another user could exchange, and so choose what is read there (T61).
package struct PathProblem: Error, Sendable, Equatable {
  enum Kind: Sendable {
    /// The owner of the step is neither root nor we.
    case owner
    /// Others can write the directory.
    case writable
    /// A symbolic link whose owner is neither root nor we.
    case link
  }

  /// The path that was asked for.
  let path: String
  /// The directory or link, by its own path.
  let step: String
  let owner: UInt32
  let mode: UInt32
  let kind: Kind

  /// The problem, with what could come of it.
  package var message: String {
    switch kind {
    case .owner, .link: "\(finding), who could replace \(path)"
    case .writable: "\(finding), and could replace \(path)"
    }
  }

  /// The remedy: a command.
  package var help: String {
    switch kind {
    case .owner: "chown root \(ShellWord.quoted(step))"
    case .writable: "chmod go-w \(ShellWord.quoted(step))"
    case .link: "chown -h root \(ShellWord.quoted(step))"
    }
  }

  var finding: String {
    switch kind {
    case .owner: "\(step) belongs to uid \(owner) (mode \(octal(mode)))"
    case .writable: "others can write \(step) (mode \(octal(mode)), uid \(owner))"
    case .link: "the symbolic link \(step) belongs to uid \(owner)"
    }
  }
}

extension PathProblem {
  /// For those who say by themselves what follows.
  package var brief: String {
    switch kind {
    case .owner, .link: "\(step) belongs to uid \(owner)"
    case .writable: "others can write \(step) (mode \(String(mode, radix: 8)))"
    }
  }
}

private func octal(_ mode: UInt32) -> String {
  let digits = String(mode, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}
