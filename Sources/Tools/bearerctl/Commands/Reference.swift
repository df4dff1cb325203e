internal import ArgumentParser
internal import Console
internal import System

/// `bearerctl reference`, with which `make generate` writes `docs/reference`.
struct Reference: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a page of docs/reference, or the paths of all pages.", shouldDisplay: false)

  @Argument(help: "The path of the page below docs/reference.")
  var path: String?

  func run() throws {
    guard let path else { return StandardOutput.print(ReferencePage.all.map { $0.path + "\n" }.joined()) }
    guard let page = ReferencePage.all.first(where: { $0.path == path }) else {
      throw Failure(Failure.usage, "there is no page \"\(path.harmless)\"")
    }
    StandardOutput.print(page.text)
  }
}
