internal import Glibc

/// A path with wildcards (glob(7)).
package struct PathPattern {
  private let pattern: String
  /// The path itself, if the pattern has no wildcards. Otherwise `nil`.
  private let path: String?

  /// - Parameter directory: the base of a relative pattern. Its characters are never wildcards.
  package init(_ text: String, in directory: String) {
    var relative = text[...]
    while relative.hasPrefix("./") { relative.removeFirst(2) }
    let start = text.hasPrefix("/") ? "" : directory == "/" ? "/" : directory + "/"
    pattern = Self.escaped(start) + relative
    path = text.contains(where: Self.wildcards.contains) ? nil : start + relative
  }

  /// Returns the matching paths, in byte order. A wildcard does not match a leading dot. A path without wildcards is
  /// returned even if it does not exist.
  /// - Throws: the error if a directory cannot be read.
  package func matches() throws(SystemError) -> [String] {
    if let path { return [path] }
    var found = glob_t()
    defer { globfree(&found) }
    let status = glob(pattern, GLOB_NOSORT, { _, error in error == ENOENT ? 0 : 1 }, &found)
    switch status {
    case 0: break
    case GLOB_NOMATCH: return []
    case GLOB_NOSPACE: throw SystemError(operation: "list \(pattern)", errno: ENOMEM)
    default: throw SystemError(operation: "list \(pattern)", errno: errno)
    }
    let paths = UnsafeBufferPointer(start: found.gl_pathv, count: Int(found.gl_pathc))
    return paths.compactMap { $0.map { String(cString: $0) } }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Whether `matches()` would return the path if it existed.
  package func matches(_ path: String) -> Bool {
    path == self.path || fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0
  }

  private static func escaped(_ path: String) -> String {
    path.map { $0 == "\\" || wildcards.contains($0) ? "\\\($0)" : "\($0)" }.joined()
  }

  private static let wildcards: Set<Character> = ["*", "?", "["]
}
