import Foundation

/// Returns the expected text from `Golden/NAME` beside the test's file. With `UPDATE_GOLDEN=1` in the environment, first
/// writes `text` to the file, so that the change can be reviewed in the diff.
package func golden(_ name: String, for text: String, file: String = #filePath) throws -> String {
  let url = URL(fileURLWithPath: file).deletingLastPathComponent().appending(path: "Golden/\(name)")
  if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
    try text.write(to: url, atomically: true, encoding: .utf8)
  }
  let expected = try String(contentsOf: url, encoding: .utf8)
  // `#expect` does not show the values of an expression with `try`.
  if text != expected { print("\(name) should be\n\(expected)\nbut is\n\(text)") }
  return expected
}
