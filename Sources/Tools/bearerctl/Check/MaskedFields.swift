internal import Settings

extension AuthScheme {
  /// The query parameters that bearerd would add, with masked values.
  var maskedParameters: [String] {
    switch self {
    case .bearer, .basic, .headers, .oauth1, .digest, .registry: []
    case .query(let name, _): ["\(name)=••••"]
    case .all(let schemes): schemes.flatMap(\.maskedParameters)
    }
  }

  /// The header fields that bearerd would add, with masked values.
  var maskedFields: [(name: String, value: String)] {
    let mask = "••••"
    switch self {
    case .bearer, .registry: return [("Authorization", "Bearer \(mask)")]
    case .basic: return [("Authorization", "Basic \(mask)")]
    case .digest: return [("Authorization", "Digest \(mask)")]
    case .headers(let headers): return headers.map { ($0.name, $0.prefix + mask) }
    case .query: return []
    case .oauth1: return [("Authorization", "OAuth \(mask)")]
    case .all(let schemes): return schemes.flatMap(\.maskedFields)
    }
  }
}
