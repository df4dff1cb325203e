/// The Public Suffix List (publicsuffix.org), as the `publicsuffix` package of Debian installs it.
enum PublicSuffixes {
  static let path = "/usr/share/publicsuffix/public_suffix_list.dat"

  /// Whether the list has a rule for exactly this name.
  /// - Parameter list: one rule per line. A rule can begin with `*.` for all names below, or with `!` for an exception.
  static func contains(_ name: String, list: [UInt8]) -> Bool {
    let parent = name.utf8.firstIndex(of: UInt8(ascii: ".")).map { "*" + name[$0...] }
    let (exact, wildcard, exception) = (Array(name.utf8), Array((parent ?? "").utf8), Array("!\(name)".utf8))
    var isSuffix = false
    for line in list.split(separator: UInt8(ascii: "\n")) {
      if line.elementsEqual(exception) { return false }
      if line.elementsEqual(exact) || line.elementsEqual(wildcard) { isSuffix = true }
    }
    return isSuffix
  }
}
