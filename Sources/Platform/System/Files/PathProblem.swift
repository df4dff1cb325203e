internal import Primitives

/// A directory or link on a path that another user could replace, and so choose the file that is read (T61).
package struct PathProblem: Error, Sendable, Equatable {
  enum Kind: Sendable {
    /// The owner of the directory is neither root nor the current user.
    case owner
    case writable
    /// The owner of the symbolic link is neither root nor the current user.
    case link
  }

  let path: String
  /// The path of the directory or link.
  let step: String
  let owner: UInt32
  let mode: UInt32
  let kind: Kind

  /// A message for the user: the problem and its consequence.
  package var message: String {
    switch kind {
    case .owner, .link: "\(finding), who could replace \(path)"
    case .writable: "\(finding), and could replace \(path)"
    }
  }

  /// A shell command that fixes the problem.
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

  /// A message for the user without the consequence of the problem.
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
