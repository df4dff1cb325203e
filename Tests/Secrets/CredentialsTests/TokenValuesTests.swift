@testable @_spi(SecretBytes) import Credentials
@testable @_spi(SecretBytes) import Secrets
import Policy
import Settings
import System
import Testing

/// Tokens of token endpoints, and the credentials that use them.
@Suite struct TokenValuesTests {
  private let values = TokenValues()
  private let source: TokenSource

  init() throws {
    source = TokenSource(
      credential: "mail", endpoint: try Endpoint(parsing: "https://login.example.com/t"), grant: .clientCredentials,
      client: TokenClient(id: "bearerd", authentication: .none))
  }

  private func keyring(_ values: TokenValues? = nil) throws -> Keyring {
    let grant = Grant(
      name: "mail", origins: [try Origin(parsing: "https://api.example.com")], callers: nil,
      fieldNames: ["authorization"])
    return try Keyring(
      entries: [Keyring.Entry(grant: grant, scheme: .bearer(.token(source)))], requireLockedMemory: false,
      tokens: values ?? self.values)
  }

  private func store(_ text: String) throws {
    var token = try Secret(capacity: 64, in: values.arena)
    try token.append(text)
    values.store(source, token)
  }

  @Test func `a token is available from its grant until it expires`() throws {
    let keyring = try keyring()
    #expect(!keyring.isAvailable(grant: 0) && keyring.isTokenPending(grant: 0))
    try store("first")
    #expect(keyring.reload(token: source) == [0] && keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 1, problem: nil))
    values.fail(source, "the server is down")
    _ = keyring.reload(token: source)
    #expect(keyring.isAvailable(grant: 0) && keyring.status(ofGrant: 0).problem?.contains("is down") == true)
    values.expire(source)
    _ = keyring.reload(token: source)
    #expect(!keyring.isAvailable(grant: 0) && keyring.status(ofGrant: 0).problem == "the server is down")
    try store("second")
    _ = keyring.reload(token: source)
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 2, problem: nil))
  }

  @Test func `a token is also available to another configuration and another thread`() throws {
    try store("first")
    #expect(try keyring().isAvailable(grant: 0))
    let others = TokenValues()
    others.adopt(values.state(of: source))
    #expect(try keyring(others).fingerprint(ofGrant: 0) == keyring().fingerprint(ofGrant: 0))
    values.forget(source)
    others.adopt(values.state(of: source))
    #expect(try !keyring(others).isAvailable(grant: 0))
  }

  @Test func `T43: a token with a line break is refused`() throws {
    try store("first\r\nX-Evil: 1")
    let keyring = try keyring()
    #expect(!keyring.isAvailable(grant: 0))
  }

  @Test func `a token source has a different fingerprint with and without a client secret`() throws {
    var other = source
    other.client = TokenClient(id: "bearerd", authentication: .basic(.file("/nowhere/secret")))
    let keyring = try keyring()
    #expect(keyring.fingerprint(ofSecretsFor: source) == "" && keyring.fingerprint(ofSecretsFor: other) == "-")
  }
}
