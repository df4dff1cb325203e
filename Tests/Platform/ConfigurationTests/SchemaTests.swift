@testable import Configuration
import Foundation
import Testing

/// What an editor completes is what the reader accepts.
@Suite struct SchemaTests {
  private static func schema() throws -> [String: Any] {
    let data = try Data(contentsOf: ExamplesTests.config.appending(path: "bearerd.schema.json"))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private static func check<Key: ConfigurationKey>(_ keys: Key.Type, _ object: Any?, _ name: String) throws {
    let object = try #require(object as? [String: Any], "\(name)")
    let properties = try #require(object["properties"] as? [String: Any], "\(name)")
    #expect(Set(properties.keys) == Set(Key.allCases.map(\.rawValue)), "\(name)")
    #expect(object["additionalProperties"] as? Bool == false, "\(name)")
    #expect((object["description"] as? String)?.isEmpty == false, "\(name)")
    let definitions = try schema()["$defs"] as? [String: Any] ?? [:]
    for (key, value) in properties {
      let property = try #require(value as? [String: Any])
      let target = (property["$ref"] as? String)?.split(separator: "/").last.map(String.init)
      let referred = target.flatMap { definitions[$0] as? [String: Any] }
      #expect(target == nil || referred != nil, "\(name).\(key)")
      #expect((property["description"] ?? referred?["description"]) is String, "\(name).\(key) has no description")
    }
  }

  @Test func keysAreTheReaders() throws {
    let schema = try Self.schema()
    #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    try Self.check(TopKey.self, schema, "top")
    let kinds = try #require(schema["$defs"] as? [String: Any])
    try Self.check(ListenerKey.self, kinds["listener"], "listener")
    try Self.check(BrowsersKey.self, kinds["browsers"], "browsers")
    try Self.check(CredentialKey.self, kinds["credential"], "credential")
    try Self.check(SourceKey.self, kinds["source"], "source")
    try Self.check(BasicKey.self, kinds["basic"], "basic")
    try Self.check(HeaderKey.self, kinds["header"], "header")
    try Self.check(OAuth2Key.self, kinds["oauth2"], "oauth2")
    try Self.check(DigestKey.self, kinds["digest"], "digest")
    try Self.check(RegistryKey.self, kinds["registry"], "registry")
    try Self.check(LoginKey.self, kinds["login"], "login")
    try Self.check(LoginHeaderKey.self, kinds["loginHeader"], "loginHeader")
    try Self.check(RefreshOnKey.self, kinds["refreshOn"], "refreshOn")
    try Self.check(SuspendKey.self, kinds["suspend"], "suspend")
    try Self.check(ClientCertificateKey.self, kinds["clientCertificate"], "clientCertificate")
    try Self.check(QueryKey.self, kinds["query"], "query")
    try Self.check(OAuth1Key.self, kinds["oauth1"], "oauth1")
    try Self.check(ServiceKey.self, kinds["service"], "service")
    try Self.check(RuleKey.self, kinds["rule"], "rule")
    try Self.check(TimeoutKey.self, kinds["timeouts"], "timeouts")
    try Self.check(LimitKey.self, kinds["limits"], "limits")
  }
}
