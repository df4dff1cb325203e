/// Names under which a client could send a credential of its own, or choose another identity, method or path (T14, T45).
/// On requests that get our credential they are removed. Compared without regard to case and with `_` read as `-`, because
/// CGI and WSGI servers fold both into one variable.
package enum CredentialFields {
  /// A field that may carry a credential.
  /// - Parameter range: the name's place in `bytes`.
  package static func isCredentialLike(name bytes: [UInt8], range: Range<Int>) -> Bool {
    credentials.contains(bytes.span.extracting(range))
  }

  /// A field that chooses another identity or another method or path than the line that was judged, or that claims to
  /// say who asks (T10, T18, T45).
  package static func isImpersonation(name bytes: [UInt8], range: Range<Int>) -> Bool {
    impersonations.contains(bytes.span.extracting(range))
  }

  /// A query parameter that carries a credential, chooses another identity or overrides the method. The name without its
  /// percent-escapes. `key` and `token` are not among them: too many APIs mean something else by them.
  package static func isCredentialParameter(decodedName name: [UInt8]) -> Bool {
    parameters.contains(name.span)
  }

  private static let credentials = NameList(
    names: [
      "authorization", "proxy-authorization", "x-authorization", "x-goog-iam-authorization-token", "cookie", "cookie2",
      "api-key", "apikey", "x-api-key", "x-apikey", "x-api-token", "xi-api-key", "x-goog-api-key", "x-rapidapi-key",
      "x-redmine-api-key", "x-algolia-api-key", "x-nuget-apikey", "x-octopus-apikey", "x-jfrog-art-api",
      "x-functions-key",
      "dd-api-key", "dd-application-key", "fastly-key", "ocp-apim-subscription-key", "x-honeycomb-team",
      "token", "x-token", "auth-token", "x-auth-token", "x-auth-key", "x-auth-email", "access-token", "x-access-token",
      "x-session-token", "x-subscription-token", "private-token", "job-token", "deploy-token", "x-gitlab-token",
      "circle-token", "x-figma-token", "x-plex-token", "x-trackertoken", "x-vault-token", "x-consul-token",
      "x-nomad-token", "x-amz-security-token", "x-shopify-access-token", "x-shopify-storefront-access-token",
      "x-postmark-server-token", "x-postmark-account-token", "x-registry-auth",
    ], prefixes: ["cf-access-"])

  private static let impersonations = NameList(
    names: [
      "sudo", "x-sudo", "remote-user", "x-authenticated-user", "x-authenticated-userid", "x-goog-user-project",
      "openai-organization", "openai-project", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip",
      "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-original-uri",
      "x-original-host", "x-original-method", "x-rewrite-url",
    ],
    prefixes: [
      "impersonate-", "x-impersonate-", "x-forwarded-", "x-remote-", "x-webauth-", "x-auth-request-",
      "x-goog-authenticated-user-", "x-ms-client-principal", "x-amzn-oidc-",
    ])

  private static let parameters = NameList(
    names: [
      "access-token", "api-key", "apikey", "x-api-key", "api-token", "auth-token", "oauth-token", "private-token",
      "job-token", "subscription-key", "sudo", "-method",
    ], prefixes: [])
}

/// Names in lower case with `-`, found without allocation. An ordinary name is told apart by its length and one letter: the
/// first, or the one behind `x-`.
private struct NameList: Sendable {
  /// The names one after the other, shorter ones first.
  private let names: [UInt8]
  /// For each length, where its names begin in `names`; the next entry is where they end.
  private let starts: [Int]
  /// For each length, which letters its names have.
  private let letters: [UInt64]
  private let prefixes: [UInt8]
  private let prefixEnds: [Int]
  private let prefixLetters: UInt64

  init(names list: [String], prefixes prefixList: [String]) {
    var (names, starts, letters): ([UInt8], [Int], [UInt64]) = ([], [], [])
    for length in 0...(list.map(\.utf8.count).max() ?? 0) {
      starts.append(names.count)
      let same = list.map { Array($0.utf8) }.filter { $0.count == length && length > 0 }
      names += same.joined()
      letters.append(same.reduce(0) { $0 | Self.letter(of: $1.span) })
    }
    self.names = names
    self.starts = starts + [names.count]
    self.letters = letters
    var (prefixes, ends, prefixLetters): ([UInt8], [Int], UInt64) = ([], [], 0)
    for prefix in prefixList.map({ Array($0.utf8) }) {
      prefixLetters |= Self.letter(of: prefix.span)
      prefixes += prefix
      ends.append(prefixes.count)
    }
    self.prefixes = prefixes
    prefixEnds = ends
    self.prefixLetters = prefixLetters
  }

  func contains(_ name: Span<UInt8>) -> Bool {
    let length = name.count
    guard length > 0 else { return false }
    let letter = Self.letter(of: name)
    if length < letters.count, letters[length] & letter != 0 {
      var start = starts[length]
      while start < starts[length + 1] {
        if begins(name, with: names, start, start + length) { return true }
        start += length
      }
    }
    guard prefixLetters & letter != 0 else { return false }
    var start = 0
    for end in prefixEnds {
      if begins(name, with: prefixes, start, end) { return true }
      start = end
    }
    return false
  }

  private func begins(_ name: Span<UInt8>, with known: [UInt8], _ start: Int, _ end: Int) -> Bool {
    guard name.count >= end - start else { return false }
    for index in start..<end where Self.folded(name[index - start]) != known[index] { return false }
    return true
  }

  /// One bit for the letter that tells most names apart.
  private static func letter(of name: Span<UInt8>) -> UInt64 {
    guard name.count > 2, folded(name[0]) == UInt8(ascii: "x") else { return 1 << UInt64(folded(name[0]) & 31) }
    return 1 << UInt64(folded(name[2]) & 31 | 32)
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    byte == UInt8(ascii: "_") ? UInt8(ascii: "-") : ByteClass.lowercased(byte)
  }
}
