internal import Glibc

/// The directories in which a change can give `path` another content: its own, and that of each symbolic link on the way,
/// which is where Kubernetes swaps `..data` and others their `current` (T44).
func watchedDirectories(of path: String) -> Set<String> {
  var found: Set<String> = [parent(of: path)]
  var rest = Array(components(of: path).reversed())
  var resolved = path.hasPrefix("/") ? "/" : "."
  var linksLeft = 40  // as the kernel
  while let component = rest.popLast() {
    if component == ".." {
      resolved = parent(of: resolved)
      continue
    }
    let next = resolved == "/" ? "/\(component)" : "\(resolved)/\(component)"
    guard let target = linkTarget(next) else {
      resolved = next
      continue
    }
    found.insert(resolved)
    linksLeft -= 1
    guard linksLeft > 0 else { return found }
    rest += components(of: target).reversed()
    if target.hasPrefix("/") { resolved = "/" }
  }
  found.insert(parent(of: resolved))
  return found
}

private func components(of path: String) -> [String] {
  path.split(separator: "/").map(String.init).filter { $0 != "." }
}

private func parent(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// nil: not a symbolic link.
private func linkTarget(_ path: String) -> String? {
  withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
    guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return nil }
    let count = readlink(path, start, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }
}
