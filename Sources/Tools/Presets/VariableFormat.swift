internal import Primitives

package enum VariableFormat: String, CaseIterable, Sendable {
  case sh, fish, powershell, dotenv, json, docker

  package func text(_ variables: [ServiceVariables.Variable]) -> String {
    switch self {
    case .sh: variables.map { "export \($0.name)=\(ShellWord.quoted($0.value))\n" }.joined()
    case .fish: variables.map { "set -gx \($0.name) \(Self.fishQuoted($0.value))\n" }.joined()
    case .powershell: variables.map { "$Env:\($0.name) = '\($0.value.replacing("'", with: "''"))'\n" }.joined()
    case .dotenv: variables.map { "\($0.name)=\(Self.dotenvQuoted($0.value))\n" }.joined()
    case .json: Self.json(variables)
    case .docker: variables.map { "--env \($0.name)=\(ShellWord.quoted($0.value))" }.joined(separator: " ") + "\n"
    }
  }

  private static func json(_ variables: [ServiceVariables.Variable]) -> String {
    var json = JSONWriter()
    json.object { json in for variable in variables { json.member(variable.name, variable.value) } }
    return String(decoding: json.bytes, as: UTF8.self) + "\n"
  }

  private static func fishQuoted(_ text: String) -> String {
    ShellWord.isPlain(text) ? text : "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }

  private static func dotenvQuoted(_ text: String) -> String {
    ShellWord.isPlain(text)
      ? text
      : "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("$", with: "\\$") + "\""
  }
}
