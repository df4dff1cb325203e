import Primitives

/// All words of the schema together, for suggestions and for showing broken lines safely.
enum SchemaWords {
  /// The words of other programs for it, in small letters and without hyphens.
  private static let others: [String: [String]] = [
    "cors": ["browsers"], "path": ["file", "match", "at"], "ratelimit": ["rate"], "ratelimits": ["rate"],
    "ratelimiting": ["rate"], "throttle": ["rate"], "oauth": ["oauth2"], "tokenendpoint": ["token_url"],
    "revocationendpoint": ["revocation_url"], "revokeurl": ["revocation_url"],
    "scopes": ["scope"], "granttype": ["grant"],
    "deviceauthorizationendpoint": ["device_authorization_url"], "authorizationendpoint": ["authorization_url"],
    "authurl": ["authorization_url"], "authorizeurl": ["authorization_url"], "redirecturl": ["redirect_uri"],
  ]

  /// The words of the schema that may be meant by another program's.
  static func ofOthers(_ word: String) -> [String] {
    others[ASCII.lowercased(word.filter { $0 != "_" && $0 != "-" })] ?? []
  }

  /// The kinds of mapping that have a key of this name.
  static func kinds(with key: String) -> [String] {
    tables.filter { $0.keys.contains(key) }.map(\.kind)
  }

  static let all: Set<String> = Set(tables.flatMap(\.keys))

  static let sorted: [String] = all.sorted()

  static func table<Key: ConfigurationKey>(_: Key.Type) -> (kind: String, keys: [String]) {
    (Key.kind, Key.allCases.map(\.rawValue))
  }

  /// Indices of the scalars that belong to a word of the schema, where it stands as a key.
  static func columns(of line: [Unicode.Scalar]) -> Set<Int> {
    var columns: Set<Int> = []
    if line == ["-", "-", "-"] { columns.formUnion(line.indices) }
    var start = 0
    for end in 0...line.count where end == line.count || !isWordCharacter(line[end]) {
      let word = String(String.UnicodeScalarView(line[start..<end]))
      if all.contains(word), end < line.count, line[end] == ":" { columns.formUnion(start..<end) }
      start = end + 1
    }
    return columns
  }

  /// Everything but what gives YAML its shape.
  static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool { !" \t:,[]{}\"'".unicodeScalars.contains(scalar) }

  /// Whether an unknown key may be repeated: it looks like one, and something stands behind it. `bearer:s3cret` and
  /// `{ s3cret }` are keys as well, to YAML.
  static func isPresentable(_ entry: YAMLEntry) -> Bool {
    !entry.value.isAbsent && entry.name.utf8.count <= 32
      && entry.name.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D }
  }
}
