import Credentials
import Secrets
import Foundation
import HTTP1
import Policy
import Settings
import TestSupport
import Testing

/// Credentials in the query, in signatures, and in several locations of one request.
@Suite struct PlacementTests {
  let scratch: Scratch
  let key: SecretSource

  init() throws {
    scratch = try Scratch()
    key = .file(try scratch.write("key", "CANARY a&b=c"))
  }

  @Test(arguments: [
    ("/", "/?api_key=CANARY%20a%26b%3Dc"), ("/a?x=1", "/a?x=1&api_key=CANARY%20a%26b%3Dc"),
    ("/a?", "/a?api_key=CANARY%20a%26b%3Dc"), ("/a?x&", "/a?x&api_key=CANARY%20a%26b%3Dc"),
  ])
  func `T13: a query credential is added to the target once, encoded`(_ target: String, _ expected: String) throws {
    let keyring = try keyring(.query(name: "api_key", value: key))
    let received = try sent(keyring, head: "POST \(target) HTTP/1.1\r\nHost: upstream.test\r\nX: y\r\n", body: "body")
    #expect(received == "POST \(expected) HTTP/1.1\r\nHost: upstream.test\r\nX: y\r\n\r\nbody")
  }

  @Test(arguments: [
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n", "GET\r\nHost: a\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\n",
  ])
  func `T13: a query credential is not sent if the request has no path`(_ head: String) throws {
    let keyring = try keyring(.query(name: "api_key", value: key))
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: 0, request: OutgoingRequest(head), over: &session)
      }
      #expect(denied?.detail.contains("CANARY") == false && session.records == 0)
    }
    #expect(upstream.finish() == [""])
  }

  @Test func `each part of a combined credential is sent in its own location`() throws {
    let token = try scratch.write("token", "TOKEN")
    let scheme = AuthScheme.all([
      .query(name: "k", value: key), .bearer(.file(token)),
      .headers([HeaderTemplate(name: "X-Plain", prefix: "", value: .plain("p"))]),
    ])
    #expect(
      try sent(keyring(scheme))
        == "GET /?k=CANARY%20a%26b%3Dc HTTP/1.1\r\nHost: upstream.test\r\n"
        + "Authorization: Bearer TOKEN\r\nX-Plain: p\r\n\r\n")
  }

  @Test func `T1: a combined credential is not sent if a part is missing or not granted`() throws {
    let token = SecretSource.file(scratch.path + "/later")
    let scheme = AuthScheme.all([.query(name: "k", value: key), .bearer(token)])
    let keyring = try keyring(scheme)
    #expect(!keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem?.contains(scratch.path + "/later") == true)
    try scratch.write("later", "TOKEN")
    for (origins, callers) in [(["https://other.test"], nil), (["https://upstream.test"], [7 as UInt32])] {
      let part = try grant("part", origins: origins, callers: callers.map { Set($0) })
      let both = Grant(
        name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
        parts: [try grant("one"), part])
      let keyring = try CredentialsTests.keyring(scheme, grant: both)
      #expect(keyring.isAvailable(grant: 0))
      let upstream = try Upstream()
      do {
        var session = try upstream.session()
        let denied = #expect(throws: AuthorizationError.self) {
          try keyring.authorize(grant: 0, request: OutgoingRequest("GET / HTTP/1.1"), over: &session)
        }
        #expect(denied?.detail.hasPrefix("credential part ") == true && session.records == 0)
      }
      #expect(upstream.finish() == [""])
    }
  }

  @Test func `a changed query credential gets a new version`() throws {
    let keyring = try keyring(.query(name: "k", value: key))
    #expect(keyring.secretVersion(ofGrant: 0) == 1)
    try scratch.write("key", "OTHER")
    #expect(keyring.reload(grant: 0) && keyring.secretVersion(ofGrant: 0) == 2)
    #expect(try sent(keyring).hasPrefix("GET /?k=OTHER HTTP/1.1\r\n"))
  }

  @Test func `each request has its own OAuth 1.0 signature`() throws {
    let secret = try scratch.write("secret", "SECRET-SECRET")
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: .file(secret))
    let keyring = try keyring(.oauth1(client))
    let form = "POST /f HTTP/1.1\r\nHost: a\r\ncontent-type: application/x-www-form-urlencoded; charset=utf-8\r\n"
    var signatures: Set<String> = []
    for (head, body) in [
      ("GET /?a=1 HTTP/1.1\r\nHost: a\r\n", ""), ("GET /?a=1 HTTP/1.1\r\nHost: a\r\n", ""),
      (form + "Content-Length: 3\r\n", "a=b"), (form + "Transfer-Encoding: chunked\r\n", "3\r\na=b\r\n0\r\n\r\n"),
      ("POST /j HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n", "{}"),
    ] {
      let received = try sent(keyring, head: head, body: body)
      #expect(
        received.hasPrefix(head + "Authorization: OAuth oauth_consumer_key=\"consumer\", ")
          && received.hasSuffix("\r\n\r\n" + body))
      #expect(!received.contains("SECRET"))
      signatures.insert(received.components(separatedBy: "oauth_signature=")[1])
    }
    #expect(signatures.count == 5)
  }

  @Test(arguments: [nil, "swordfish"])
  func `RSA-SHA1 signs with the private key, which is decrypted once`(_ passphrase: String?) throws {
    let pem = try scratch.write("key.pem", passphrase == nil ? KnownKeys.rsa : KnownKeys.encryptedRSA)
    let word = try passphrase.map { SecretSource.file(try scratch.write("word", $0 + "\n")) }
    var client = OAuth1Client(
      consumerKey: .plain("consumer"), privateKey: SigningKeySource(.file(pem), passphrase: word))
    client.token = .file(try scratch.write("token", "TOKEN-of-alice"))
    let keyring = try keyring(.oauth1(client))
    #expect(keyring.status(ofGrant: 0).problem == nil)
    for _ in 1...2 {
      let received = try sent(keyring, head: "GET /?a=1 HTTP/1.1\r\nHost: a\r\n")
      #expect(received.contains("oauth_signature_method=\"RSA-SHA1\""))
      #expect(received.contains("oauth_token=\"TOKEN-of-alice\""))
      // 256 bytes in base64.
      let signature = try #require(received.firstMatch(of: /oauth_signature="([^"]*)"/)?.1)
      #expect(Data(base64Encoded: signature.removingPercentEncoding ?? "")?.count == 256)
    }
  }

  @Test func `RSA-SHA1 refuses a key that is too short, of another type or damaged`() throws {
    for (pem, problem) in [
      (KnownKeys.ec, "not an RSA key"), (KnownKeys.shortRSA, "1024 bits"), ("no key", "no private key in PEM"),
      (KnownKeys.encryptedRSA, "is encrypted"),
    ] {
      let source = SecretSource.file(try scratch.write("key.pem", pem))
      let client = OAuth1Client(consumerKey: .plain("consumer"), privateKey: SigningKeySource(source))
      let status = try keyring(.oauth1(client)).status(ofGrant: 0)
      #expect(status.problem?.contains(problem) == true, "\(status.problem ?? "")")
    }
  }

  @Test func `a request with an incomplete form is neither signed nor sent`() throws {
    let secret = try scratch.write("secret", "SECRET-SECRET")
    let keyring = try keyring(
      .oauth1(OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: .file(secret))))
    let form = "POST /f HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    for (field, body) in [("Content-Length: 4", "a=b"), ("Transfer-Encoding: chunked", "3\r\na=b\r\n")] {
      let upstream = try Upstream()
      do {
        var session = try upstream.session()
        #expect(throws: AuthorizationError.self) {
          try keyring.authorize(
            grant: 0, request: OutgoingRequest(form + field + "\r\n"), body: Array(body.utf8), over: &session)
        }
        #expect(session.records == 0)
      }
      #expect(upstream.finish() == [""])
    }
  }
}
