internal import System

/// A directory entry that affects the content of a secret file.
struct WatchedName: Hashable {
  let directory: String
  let name: String
}

/// Returns the directory entries that affect the content of `path`: the file and each symbolic link on the path (T44).
func watchedNames(of path: String) -> Set<WatchedName> {
  // Kubernetes replaces the link `..data` to change a secret, other tools a link `current`.
  var found: Set<WatchedName> = [WatchedName(directory: parent(of: path), name: lastComponent(of: path))]
  var rest = Array(components(of: path).reversed())
  var resolved = path.hasPrefix("/") ? "/" : "."
  var linksLeft = 40  // the kernel's limit
  while let component = rest.popLast() {
    if component == ".." {
      resolved = parent(of: resolved)
      continue
    }
    let next = resolved == "/" ? "/\(component)" : "\(resolved)/\(component)"
    guard let target = FileReader.linkTarget(next) else {
      resolved = next
      continue
    }
    found.insert(WatchedName(directory: resolved, name: component))
    linksLeft -= 1
    guard linksLeft > 0 else { return found }
    rest += components(of: target).reversed()
    if target.hasPrefix("/") { resolved = "/" }
  }
  found.insert(WatchedName(directory: parent(of: resolved), name: lastComponent(of: resolved)))
  return found
}

private func lastComponent(of path: String) -> String { components(of: path).last ?? "" }

private func components(of path: String) -> [String] {
  path.split(separator: "/").map(String.init).filter { $0 != "." }
}

private func parent(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}
