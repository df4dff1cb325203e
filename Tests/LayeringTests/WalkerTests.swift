import Foundation
import TestSupport
import Testing

/// Whatever reads what strangers send has a row that says what it may cost (T60), or a reason why it needs none.
@Suite struct WalkerTests {
  /// Those that read strangers' bytes, with the tests that hold their rows.
  private static let modules = [
    "Primitives": "Core/HTTP1Tests", "HTTP1": "Core/HTTP1Tests", "Policy": "Core/PolicyTests",
    "Gateway": "Core/GatewayTests",
    "Secrets": "Secrets/CredentialsTests", "Redaction": "Secrets/RedactionTests",
    "Credentials": "Secrets/CredentialsTests",
    "OAuth": "Secrets/OAuthTests",
    "JSON": "Secrets/CredentialsTests",
  ]

  @Test func `T60: every file with a loop has a row of costs, or a reason for none`() throws {
    let repository = URL(filePath: repositoryRoot)
    let tables = try Set(Self.modules.values).map { tests in
      try String(contentsOf: repository.appending(path: "Tests/\(tests)/CostTests.swift"), encoding: .utf8)
    }.joined()
    var walkers: Set<String> = []
    for module in Self.modules.keys {
      let folder = repository.appending(path: sourceFolder(of: module))
      for case let file as String in try #require(FileManager.default.enumerator(atPath: folder.path))
      where file.hasSuffix(".swift") {
        let name = String(file.split(separator: "/").last?.dropLast(6) ?? "")
        let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        guard Self.walks(text) else { continue }
        walkers.insert(name)
        let isKnown = tables.contains("\"\(name)\"") || Self.others.contains { $0.files.contains(name) }
        #expect(
          isKnown,
          "\(module)/\(file) walks something: a row of \(Self.modules[module] ?? "")/CostTests.swift, or a reason here")
      }
    }
    let gone = Set(Self.others.flatMap(\.files)).subtracting(walkers)
    #expect(gone.isEmpty, "these walk nothing any more: \(gone.sorted())")
  }

  private static func walks(_ text: String) -> Bool {
    text.split(separator: "\n").contains { line in
      let line = line.drop { $0 == " " }
      if line.hasPrefix("//") { return false }
      return line.hasPrefix("for ") || line.hasPrefix("while ") || line.contains(".firstIndex")
        || line.contains(".split(") || line.contains(".contains {") || line.contains(".contains(where")
    }
  }

  private struct Reason {
    let why: String
    let files: Set<String>
  }

  private static let others: [Reason] = [
    Reason(
      why: "steps of those that have rows, each taken once for a byte",
      files: [
        "ByteBuffer", "Bytes", "Framing", "KnownNames", "Scanning", "Authorities", "Base64", "BrowserLikeness",
        "ClientToken", "CredentialFields", "Grant", "HostName", "IPAddress", "MethodSet", "PageOrigins", "RuleTable",
        "TokenDigest", "URLParts", "UpgradeProtocol", "Snapshot", "CookieJars", "Escape", "ExecCredentialAnswer",
        "UTF8Text", "HelperAnswerReader", "OAuth1Signature", "PatternMatcher", "TrigramFilter", "Secret",
        "SecretArena",
        "LoginAnswer", "BodyTreatment", "UpgradedConnection", "ClientTokenText", "CredentialSubprotocol",
        "RequestForwarding+ClientToken", "RequestForwarding+Subprotocols", "SetCookieAttributes",
      ]),
    Reason(
      why: "what a configuration says, read once",
      files: [
        "AddressBlock", "AddressClasses", "CaseNeighbours", "CivilTime", "Coverage", "CredentialTraits",
        "PatternAutomaton", "Pin",
        "KeyringBuilder", "KeyringPlan", "QuotedText", "ShadowedRules", "TallyBuilder", "URLPattern", "Upstream",
      ]),
    Reason(
      why: "what this program knows or writes itself, and how much of it there is has a bound",
      files: [
        "Exposition", "GateReport", "Histogram", "IdlePool", "JSONWriter", "RateLimits", "RejectedValues",
        "ServiceTally",
        "UnreadBody",
        "CommandValues+Keyring",
        "CookieMerge", "CredentialLines", "CredentialSlot", "Keyring+Authorize", "FingerprintKey", "Keyring",
        "KeyringLogout",
        "KeyringTokens",
        "SecretFile",
        "FileValues", "SecretEncodings", "SecretList", "SecretReader", "SecretFileSnapshot", "EncodedTrigrams",
        "RecordBuffer",
        "WatchedDirectories", "Base64URL", "BrowserLogin", "FormWriter", "GrantRemarks", "LoginBody", "RegistryRequest",
        "SignedToken", "StoredLogin", "TokenForm",
      ]),
    Reason(
      why: "what a request was made of by then, each byte taken once",
      files: ["DigestAnswer", "Keyring+Placement", "SignedForm"]),
  ]
}
