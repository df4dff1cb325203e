internal import Console
internal import ArgumentParser
internal import Presets
internal import Secrets
internal import System

/// The user's answers to the questions of a preset.
struct Questions {
  /// The answers in `--set` options, by name.
  private var given: [String: String] = [:]
  private let terminal: TerminalInput?

  init(_ given: [String], of preset: Preset) throws {
    for text in given {
      guard let equals = text.firstIndex(of: "=") else {
        throw Failure(Failure.usage, "--set \(text.harmless): expected NAME=VALUE")
      }
      let name = String(text[..<equals])
      guard preset.questions.contains(where: { $0.name == name }) else {
        let names = preset.questions.map(\.name)
        let known =
          names.isEmpty
          ? "\(preset.name) asks only for the key" : "\(preset.name) asks for \(names.joined(separator: ", "))"
        throw Failure(Failure.usage, "--set \(name.harmless) is not known: \(known)")
      }
      self.given[name] = String(text[text.index(after: equals)...])
    }
    terminal = TerminalInput()
  }

  func answers(to preset: Preset) throws -> [String: String] {
    var answers: [String: String] = [:]
    for question in preset.questions {
      if let answer = given[question.name] {
        guard question.accepts(answer) else {
          throw Failure(Failure.usage, "--set \(question.name)=\(answer.harmless): expected \(question.expectation)")
        }
        answers[question.name] = answer
      } else {
        answers[question.name] = try ask(question)
      }
    }
    return answers
  }

  private func ask(_ question: Preset.Question) throws -> String {
    guard let terminal else {
      throw Failure(Failure.usage, "there is no terminal for questions. Use --set \(question.name)=\(question.example)")
    }
    for _ in 0..<3 {
      terminal.show("\(question.prompt) (for example \(question.example)): ")
      guard let line = terminal.readLine() else { break }
      let answer = line.trimmed
      if question.accepts(answer) { return answer }
      terminal.show("Expected \(question.expectation).\n")
    }
    throw Failure(Failure.usage, "you gave no usable answer for \(question.name). Nothing was changed")
  }

  /// Reads the key from a file, from standard input, or from the terminal without echo.
  func key(
    of preset: Preset, _ answers: [String: String], file: String?, isStandardInput: Bool
  ) throws -> IncomingSecret {
    if file == nil, !isStandardInput, terminal == nil {
      throw Failure(Failure.usage, "there is no terminal to ask for the key. Use --key-stdin or --key-file")
    }
    do throws(IncomingSecret.Problem) {
      if let file { return try IncomingSecret(readingFrom: absolute(file)) }
      guard !isStandardInput || TerminalInput.isStandardInput, let terminal else {
        return try IncomingSecret(readingFrom: nil)
      }
      if !preset.create.isEmpty { terminal.show("Create one at \(Preset.filled(preset.create, answers))\n") }
      terminal.show("\(preset.key) (it is not shown): ")
      defer { terminal.show("\n") }
      return try IncomingSecret(typedAt: terminal)
    } catch {
      throw Questions.failure(error)
    }
  }

  /// - Parameter name: What the user provides.
  static func failure(_ problem: IncomingSecret.Problem, of name: String = "key") -> Failure {
    let sentence =
      switch problem {
      case .empty: "the \(name) is empty"
      case .tooLong: "the \(name) is too long"
      case .controlCharacter:
        "the \(name) contains a line break or another control character. Provide only the \(name) itself"
      case .surroundingSpace: "the \(name) begins or ends with a space"
      case .inQuotes: "the \(name) is in quotation marks, which would be sent with it. Remove them"
      case .interrupted: "interrupted"
      case .unreadable(let error): "the \(name) cannot be read: \(error)"
      }
    if case .interrupted = problem { return Failure(130, "interrupted. Nothing was changed") }
    return Failure(Failure.usage, "\(sentence). Nothing was changed")
  }

  /// Asks the user to confirm with `y`; `false` without a terminal.
  static func confirm(_ question: String) -> Bool {
    guard let terminal = TerminalInput() else { return false }
    terminal.show("\(question) [y/N] ")
    return ["y", "yes"].contains(terminal.readLine()?.trimmed.lowercased() ?? "")
  }
}

extension String {
  var trimmed: String {
    var rest = self[...]
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }
}
