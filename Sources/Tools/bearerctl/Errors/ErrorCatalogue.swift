internal import Console
internal import Gateway
internal import HTTP1

enum ErrorCatalogue {
  static func described(_ code: RefusalCode, _ terminal: Terminal) -> String {
    let row = code.row
    let sections = [
      ("refused by", code.refuser.title.description), ("what happened", code.row.what.description),
      ("what to do", code.row.todo.description),
    ]
    let paragraphs = sections.map { terminal.dim($0) + "\n" + wrapped($1, width: 78, indentation: "  ") + "\n" }
    return """
      \(terminal.bold(row.code.description))  status \(row.status), gRPC \(row.grpc.name), error=\(row.proxyError)

      \(wrapped(row.title.description + ".", width: 78, indentation: "  "))

      \(paragraphs.joined(separator: "\n"))
      """ + reasons(of: code).map { "\n" + $0 }.joined()
  }

  static func list(_ terminal: Terminal) -> String {
    let width = RefusalCode.allCases.map(\.row.code.description.count).max() ?? 0
    return Refuser.allCases.map { refuser in
      let lines = codes(of: refuser).map { code in
        "  \(code.row.status)  \(terminal.bold(code.row.code.description.padded(to: width)))\n"
      }
      return terminal.dim("refused by \(refuser.title)") + "\n" + lines.joined()
    }.joined(separator: "\n")
  }

  static func codes(of refuser: Refuser) -> [RefusalCode] {
    RefusalCode.allCases.filter { $0.refuser == refuser }
  }

  /// Returns one line for each `reason` that a refusal with this code can have; empty for a single reason.
  static func reasons(of code: RefusalCode) -> [String] {
    let reasons = MessageError.Reason.allCases.filter { Refusal.malformed($0).code == code }
    // The text of the code already explains a single reason.
    return reasons.count < 2 ? [] : reasons.map { "  `\($0.rawValue)`: \($0.sentence)\n" }
  }
}
