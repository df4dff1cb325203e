internal import Console
internal import ArgumentParser
internal import Configuration
internal import Gateway
internal import HTTP1
internal import System

/// `bearerctl errors`
struct Errors: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What an error of bearerd means, and what to do.",
    usage: "bearerctl errors [CODE]",
    discussion: """
      When bearerd refuses a request, the body of its answer has a "type" that ends in a code, the log has the same \
      code as "refused", and so has "bearerctl status". This prints what happened, who refused, and what to do.

        bearerctl errors                 all codes
        bearerctl errors pin-mismatch    one of them

      Exits with 2 if there is no such code.
      """)

  @Argument(help: "The code, or the whole type, or the reason of a malformed request.", completion: .list(names))
  var code: String?

  private static let names = RefusalCode.allCases.map(\.row.code.description)

  func run() throws {
    guard let code else {
      return StandardOutput.print(
        ErrorCatalogue.list(.output) + "\nbearerctl errors CODE says what happened and what to do.\n")
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
      "there is no error \"\(name.harmless)\""
        + (nearest.map { "; did you mean \($0)?" } ?? "; \"bearerctl errors\" lists them all"))
  }
}
