/// Response fields with URLs that clients use automatically (T32). Fields with a case in `KnownField`, such as
/// Location, are not in these tables.
enum URLFields {
  static func contain(_ name: Span<UInt8>) -> Bool { names.contains(name) }

  /// Whether the whole value of the field is one URL.
  static func areURLs(_ name: Span<UInt8>) -> Bool { urlNames.contains(name) }

  private static let names = FieldNameList(texts + urls)
  private static let urlNames = FieldNameList(urls)

  private static let texts = [
    // RFC 8053: optional challenges, and the URLs for login and logout.
    "Optional-WWW-Authenticate", "Authentication-Control",
    // RFC 2068 §19.6.2, RFC 2295, RFC 9652.
    "URI", "Alternates", "Link-Template",
    "X-GitHub-SSO", "Updates-Via",
    // A URL, or JSON with a URL.
    "HX-Location",
  ]

  static let urls = [
    // RFC 2068 §14.11, RFC 4437.
    "Content-Base", "Base", "Redirect-Ref",
    // Long-running operations: Microsoft's REST guidelines, Azure Resource Manager, OData 4.0, ownCloud and Nextcloud.
    "Operation-Location", "Azure-AsyncOperation", "OData-EntityId", "OC-JobStatus-Location",
    // Uploads: Google's resumable uploads. Tus and the IETF's protocol use Location.
    "X-Goog-Upload-URL", "X-Goog-Upload-Control-URL",
    // The URL of a service after its login: OpenStack Swift, Exchange ActiveSync, Office (MS-OFBA), Hugging Face's Xet.
    "X-Storage-Url", "X-CDN-Management-Url", "X-Server-Management-Url", "X-MS-Location", "X-Forms_Based_Auth_Required",
    "X-Forms_Based_Auth_Return_Url", "X-Xet-Cas-Url", "X-Xet-Refresh-Route",
    // Downloads and discovery: modules of Terraform, DIAL, Yadis, pingbacks, Solid.
    "X-Terraform-Get", "Application-URL", "X-XRDS-Location", "X-Pingback",
    // Scripts and debuggers in browsers: htmx, source maps.
    "HX-Redirect", "SourceMap", "X-SourceMap",
  ]
}

/// A set of field names, searched without allocation.
private struct FieldNameList: Sendable {
  /// The names in lower case, concatenated, shorter names first.
  private let names: [UInt8]
  /// For each name length, the index in `names` at which the names of this length begin.
  private let starts: [Int]
  /// Indexed by name length: the combined bits `letter(of:)` of all names of this length. A name whose bit is not set
  /// is not in the list.
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

  /// Returns one bit, which depends on a letter of the name. The name must have at least three bytes.
  private static func letter(of name: Span<UInt8>) -> UInt64 {
    if folded(name[0]) != UInt8(ascii: "x") { return 1 << UInt64(folded(name[0]) & 31) }
    return 1 << UInt64(folded(name[2]) & 31 | 32)
  }

  private static func folded(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
