import Foundation

/// Rules that no path may escape (T12), and independent readings of paths to test that.
package enum GuardedPaths {
  package static let rules = """
    rules:
      - { match: "/public/**" }
      - { match: "/plain/*", credential: none }
      - { match: "/own/**", credential: pass }
      - { match: "/things/*/parts", methods: [GET] }
      - { match: "/things/**", deny: true }
      - { match: "/repos/acme/secret/**", deny: true }
      - { match: "/repos/**" }
      - { match: "/exact/Secret", deny: true, case: exact }
      - { match: "/exact/*" }
    """

  /// Returns a reading of the received path that is neither below `/public/` nor the parts of a thing, or `nil`.
  package static func escape(of target: String) -> String? { readings(of: target).first { !isAllowed($0) } }

  /// Returns the readings that servers make of a path: each decoding step applied or not, in each relevant order.
  private static func readings(of target: String) -> Set<String> {
    let path = String(target.prefix { $0 != "?" })
    var found: Set<String> = [path]
    for _ in 0..<2 {
      for reading in found {
        found.insert(reading.replacing("%2F", with: "/").replacing("%2f", with: "/"))
        found.insert(reading.removingPercentEncoding ?? reading)
        found.insert(reading.replacing("\\", with: "/"))
        found.insert(
          reading.components(separatedBy: "/").map { String($0.prefix { $0 != ";" }) }.joined(separator: "/"))
        var collapsed = reading
        while collapsed.contains("//") { collapsed = collapsed.replacing("//", with: "/") }
        found.insert(collapsed)
      }
    }
    return Set(found.map(removingDots))
  }

  private static func removingDots(_ path: String) -> String {
    var output: [Substring] = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      switch segment {
      case ".": continue
      case "..": _ = output.popLast()
      default: output.append(segment)
      }
    }
    return "/" + output.joined(separator: "/")
  }

  private static func isAllowed(_ path: String) -> Bool {
    if path.hasPrefix("/base/public/") || path.hasPrefix("/base//public/") { return true }
    let parts = path.components(separatedBy: "/")
    return parts.count == 5 && parts[2] == "things" && parts[4] == "parts"
  }
}
