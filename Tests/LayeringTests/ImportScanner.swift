/// Returns the modules that a Swift source imports. Finds imports with attributes, access levels or a kind (`import
/// struct A.B`), and several on a line. Ignores comments and string literals.
func importedModules(in source: String) -> [String] {
  let words = code(of: source).split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "." || $0 == "`") }
  var modules: [String] = []
  for (index, word) in words.enumerated() where word == "import" {
    let rest = words[(index + 1)...].drop { declarationKinds.contains($0) }
    guard let path = rest.first, let module = path.split(separator: ".").first else { continue }
    modules.append(module.filter { $0 != "`" })
  }
  return modules
}

private let declarationKinds: Set<Substring> = [
  "struct", "class", "enum", "protocol", "typealias", "func", "let", "var", "actor",
]

/// Returns `source` with a space instead of each comment and string literal.
private func code(of source: String) -> String {
  var rest = Substring(source)
  var code = ""
  while let character = rest.first {
    if rest.hasPrefix("//") {
      rest = rest.drop { !$0.isNewline }
    } else if rest.hasPrefix("/*") {
      rest = afterComment(rest)
    } else if rest.hasPrefix("\"\"\"") {
      rest = afterLiteral(rest.dropFirst(3), closing: "\"\"\"")
    } else if character == "\"" {
      rest = afterLiteral(rest.dropFirst(), closing: "\"")
    } else {
      code.append(character)
      rest = rest.dropFirst()
      continue
    }
    code.append(" ")
  }
  return code
}

/// Swift's comments nest.
private func afterComment(_ source: Substring) -> Substring {
  var (rest, depth) = (source, 0)
  repeat {
    if rest.hasPrefix("/*") {
      depth += 1
      rest = rest.dropFirst(2)
    } else if rest.hasPrefix("*/") {
      depth -= 1
      rest = rest.dropFirst(2)
    } else {
      rest = rest.dropFirst()
    }
  } while depth > 0 && !rest.isEmpty
  return rest
}

private func afterLiteral(_ source: Substring, closing: String) -> Substring {
  var rest = source
  while !rest.isEmpty, !rest.hasPrefix(closing) {
    rest = rest.dropFirst(rest.first == "\\" ? 2 : 1)
  }
  return rest.dropFirst(closing.count)
}
