/// A page of `docs/reference`, generated from the source code.
struct ReferencePage {
  /// The path below `docs/reference`, such as `errors/rules.md`.
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
