import Foundation
package import TestSupport
package import Testing

// Audit files: a stage that writes one, the real verifier, and a limit for the file size.
extension Stage {
  package static func withAudit(required: Bool = false) throws -> (Stage, file: String) {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "audit: { file: audit.log\(required ? ", required: true" : "") }"))
    return (stage, stage.scratch.path + "/audit.log")
  }

  package static func lines(_ file: String) throws -> [String] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  package func verify(_ more: String...) throws -> CommandResult {
    try run(
      [RunningDaemon.binary("bearerctl"), "audit", "verify"] + more
        + ["--config", scratch.path + "/bearerd.yaml", "--control", scratch.path + "/control.sock"])
  }

  /// Calls `assertCanary`, and checks that `file` does not contain the secret.
  package func assertCanary(times: Int, notIn file: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for form in Stage.encodings(of: canary) {
      #expect(!text.contains(form), "the secret is in the audit file", sourceLocation: sourceLocation)
    }
    assertCanary(times: times, sourceLocation: sourceLocation)
  }
}
