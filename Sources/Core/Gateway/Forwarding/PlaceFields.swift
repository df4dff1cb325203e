internal import HTTP1

/// The response fields, beside Location, Content-Location, Refresh and Link, whose URLs clients follow without asking (T32).
/// WWW-Authenticate and Authentication-Info, which have the most dangerous ones, are known by `KnownField`.
///
/// `urls` are those whose whole value is one URL: if it is one of the upstream's own, it is rewritten (docs/how-requests-change.md has the table).
/// The others go on as they are.
enum PlaceFields {
  static func contain(_ name: Span<UInt8>) -> Bool { names.contains(name) }

  /// Whether the whole value of such a field is one URL.
  /// - Parameter name: one that the table contains.
  static func areURLs(_ name: Span<UInt8>) -> Bool { urlNames.contains(name) }

  private static let names = FieldNameList(texts + urls)
  private static let urlNames = FieldNameList(urls)

  private static let texts = [
    // RFC 8053: challenges that a client may leave unmet, and the places to go for a login and a logout.
    "Optional-WWW-Authenticate", "Authentication-Control",
    // RFC 2068 §19.6.2, RFC 2295, RFC 9652.
    "URI", "Alternates", "Link-Template",
    "X-GitHub-SSO", "Updates-Via",
    // A URL, or JSON with one.
    "HX-Location",
  ]

  /// The fields that are rewritten, beside Location, Content-Location, Refresh and Link.
  static let urls = [
    // RFC 2068 §14.11, RFC 4437.
    "Content-Base", "Base", "Redirect-Ref",
    // Operations that go on: Microsoft's REST guidelines, Azure Resource Manager, OData 4.0, ownCloud and Nextcloud.
    "Operation-Location", "Azure-AsyncOperation", "OData-EntityId", "OC-JobStatus-Location",
    // Uploads: Google's resumable ones. Tus and the IETF's use Location.
    "X-Goog-Upload-URL", "X-Goog-Upload-Control-URL",
    // The place of a service behind its login: OpenStack Swift, Exchange ActiveSync, Office (MS-OFBA), Hugging Face's Xet.
    "X-Storage-Url", "X-CDN-Management-Url", "X-Server-Management-Url", "X-MS-Location", "X-Forms_Based_Auth_Required",
    "X-Forms_Based_Auth_Return_Url", "X-Xet-Cas-Url", "X-Xet-Refresh-Route",
    // Downloads and discovery: modules of Terraform, DIAL, Yadis, pingbacks, Solid.
    "X-Terraform-Get", "Application-URL", "X-XRDS-Location", "X-Pingback",
    // Scripts and debuggers in browsers: htmx, source maps.
    "HX-Redirect", "SourceMap", "X-SourceMap",
  ]
}

/// Names of fields, found without allocation. An ordinary name is told apart by its length and one letter: the first, or the one
/// behind `x-`.
private struct FieldNameList: Sendable {
  /// The names one after the other in lower case, shorter ones first.
  private let names: [UInt8]
  /// For each length, the index in `names` where its names begin, and at last the end.
  private let starts: [Int]
  /// For each length, the letters of its names.
  private let letters: [UInt64]

  init(_ list: [String]) {
    let list = list.map { Array($0.lowercased().utf8) }
    var (names, starts, letters): ([UInt8], [Int], [UInt64]) = ([], [0], [])
    for length in 0...(list.map(\.count).max() ?? 0) {
      let same = list.filter { $0.count == length && length > 2 }
      names += same.joined()
      starts.append(names.count)
      letters.append(same.reduce(0) { $0 | Self.letter(of: $1.span) })
    }
    (self.names, self.starts, self.letters) = (names, starts, letters)
  }

  func contains(_ name: Span<UInt8>) -> Bool {
    let length = name.count
    guard length > 2, length < letters.count, letters[length] & Self.letter(of: name) != 0 else { return false }
    var start = starts[length]
    while start < starts[length + 1] {
      if matches(name, at: start) { return true }
      start += length
    }
    return false
  }

  private func matches(_ name: Span<UInt8>, at start: Int) -> Bool {
    for index in name.indices where Self.folded(name[index]) != names[start + index] { return false }
    return true
  }

  /// One bit for the letter that tells most names apart. The name has three bytes or more.
  private static func letter(of name: Span<UInt8>) -> UInt64 {
    if folded(name[0]) != UInt8(ascii: "x") { return 1 << UInt64(folded(name[0]) & 31) }
    return 1 << UInt64(folded(name[2]) & 31 | 32)
  }

  private static func folded(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
