/// A page of `docs/reference` that is written from a table of the programs.
struct ReferencePage {
  /// Below `docs/reference`, such as `errors/rules.md`.
  let path: String
  let text: String

  init(_ path: String, _ text: String) {
    self.path = path
    self.text = "<!-- Written by make generate. -->\n" + text
  }

  static var all: [ReferencePage] {
    [events, metrics, exitStatus] + errors + commands
  }
}
