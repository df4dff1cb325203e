import Primitives
internal import Settings

/// All keys of the configuration file, for error messages.
enum SchemaWords {
  /// Words that other programs use, in lowercase without `_` and `-`, with the corresponding keys of bearerd.
  private static let foreignWords: [String: [String]] = [
    "cors": ["browsers"], "path": ["file", "match", "at"], "ratelimit": ["rate"], "ratelimits": ["rate"],
    "ratelimiting": ["rate"], "throttle": ["rate"], "oauth": ["oauth2"], "tokenendpoint": ["token_url"],
    "revocationendpoint": ["revocation_url"], "revokeurl": ["revocation_url"],
    "scopes": ["scope"], "granttype": ["grant"],
    "deviceauthorizationendpoint": ["device_authorization_url"], "authorizationendpoint": ["authorization_url"],
    "authurl": ["authorization_url"], "authorizeurl": ["authorization_url"], "redirecturl": ["redirect_uri"],
  ]

  /// Returns the keys that another program's word may mean.
  static func synonyms(for word: String) -> [String] {
    foreignWords[ASCII.lowercased(word.filter { $0 != "_" && $0 != "-" })] ?? []
  }

  /// Returns the kinds of mapping that have this key, such as `a service`.
  static func kinds(with key: String) -> [String] {
    ConfigurationSchema.sections.filter { $0.keys.contains(key) }.map(\.kind)
  }

  static let all: Set<String> = Set(ConfigurationSchema.sections.flatMap(\.keys))

  static let sorted: [String] = all.sorted()

  /// Returns the columns of the line, counted from 0, that contain a known key or the marker `---`.
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

  /// Whether the scalar is neither a space nor YAML punctuation.
  static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool { !" \t:,[]{}\"'".unicodeScalars.contains(scalar) }

  /// Whether a message may show this unknown key.
  static func isPresentable(_ entry: YAMLEntry) -> Bool {
    // YAML reads `bearer:s3cret`, without a space after the colon, as one key without a value.
    !entry.value.isAbsent && entry.name.utf8.count <= 32
      && entry.name.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D }
  }
}
