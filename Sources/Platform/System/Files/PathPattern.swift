internal import Glibc

/// A path with wildcards in it (glob(7)).
package struct PathPattern {
  private let pattern: String
  /// The only path that it stands for; `nil` if it has wildcards.
  private let path: String?

  /// - Parameter directory: where a relative path begins; wildcards in its name have no meaning.
  package init(_ text: String, in directory: String) {
    var relative = text[...]
    while relative.hasPrefix("./") { relative.removeFirst(2) }
    let start = text.hasPrefix("/") ? "" : directory == "/" ? "/" : directory + "/"
    pattern = Self.escaped(start) + relative
    path = text.contains(where: Self.wildcards.contains) ? nil : start + relative
  }

  /// Returns the paths that match, in the order of their bytes. A name that begins with a dot has to be written with one. A directory
  /// that does not exist has no matches; a path without wildcards is its own, whether it exists or not.
  /// - Throws: what kept a directory from being read.
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

  /// Returns a path as a pattern that only itself matches.
  private static func escaped(_ path: String) -> String {
    path.map { $0 == "\\" || wildcards.contains($0) ? "\\\($0)" : "\($0)" }.joined()
  }

  private static let wildcards: Set<Character> = ["*", "?", "["]
}
