internal import Glibc

/// A path with wildcards in it (glob(7)).
package enum PathPattern {
  /// Returns the paths that match, in the order of their bytes. A name that begins with a dot has to be written with one. A directory
  /// that does not exist has no matches; a path without wildcards is its own, whether it exists or not.
  /// - Throws: what kept a directory from being read.
  package static func matches(of pattern: String) throws(SystemError) -> [String] {
    if !pattern.utf8.contains(where: { "*?[".utf8.contains($0) }) { return [pattern] }
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

  /// Returns a path as a pattern that only itself matches.
  package static func escaped(_ path: String) -> String {
    var escaped = ""
    for character in path {
      if "\\*?[".contains(character) { escaped += "\\" }
      escaped.append(character)
    }
    return escaped
  }

  /// Whether `matches` would return the path if it existed.
  package static func matches(_ path: String, _ pattern: String) -> Bool {
    path == pattern || fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0
  }
}
