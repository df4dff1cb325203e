internal import Console
internal import ArgumentParser
internal import Configuration
internal import Gateway
internal import HTTP1
internal import System

struct Errors: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explain what an error code of bearerd means and what to do.",
    usage: "bearerctl errors [CODE]",
    discussion: """
      Prints what happened, who refused the request, and what to do.

        bearerctl errors                 list all codes
        bearerctl errors pin-mismatch    explain one code

      When bearerd refuses a request, the "type" in the body of its response ends with the code. In the log, the code is \
      in the field "refused". "bearerctl status" also shows the code.

      Exits with 2 if there is no such code.
      """)

  @Argument(help: "The code, the whole \"type\", or the reason why a request is malformed.", completion: .list(names))
  var code: String?

  private static let names = RefusalCode.allCases.map(\.row.code.description)

  func run() throws {
    guard let code else {
      return StandardOutput.print(
        ErrorCatalogue.list(.output) + "\n\"bearerctl errors CODE\" explains what a code means and what to do.\n")
    }
    StandardOutput.print(ErrorCatalogue.described(try find(code), .output))
  }

  private func find(_ text: String) throws -> RefusalCode {
    let prefix = "urn:bearerd:error:"
    let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    if let code = RefusalCode(named: name) { return code }
    if let reason = MessageError.Reason(rawValue: name) { return Refusal.malformed(reason).code }
    let nearest = Suggestion.nearest(to: name, in: Errors.names)
    throw Failure(
      Failure.usage,
      "there is no error code \"\(name.harmless)\""
        + (nearest.map { ": did you mean \"\($0)\"?" } ?? ". \"bearerctl errors\" lists all codes"))
  }
}
