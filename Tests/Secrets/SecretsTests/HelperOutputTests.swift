import HelperOutput
import Policy
import Settings
import Testing

@_spi(SecretBytes) @testable import Secrets

/// Output of credential helpers in the formats of git, Kubernetes and docker (T42). Errors do not repeat the output.
@Suite struct HelperOutputTests {
  private struct Parts: Equatable {
    var user: String?
    var secret: String
    var expiry: Int64?
  }

  private static let now: Int64 = 1_800_000_000
  private static let git = GitDescription(host: "git.example.com", path: "team", user: nil, acceptsToken: false)
  private static let token = GitDescription(host: "git.example.com", path: nil, user: nil, acceptsToken: true)

  private func read(_ text: String, _ format: CommandFormat) -> (parts: Parts?, problem: String?) {
    let command = SecretCommand(words: ["/bin/helper", "ARGUMENT"], format: format, timeToLive: nil, timeout: 1)
    let arena = SecretArena()
    return Array(text.utf8).withUnsafeBytes { bytes in
      do throws(SecretProblem) {
        let output = try HelperOutputReader(command: command, arena: arena, now: Self.now).read(bytes)
        var user: String?
        if output.userCount != nil { output.withPart(isUser: true) { user = String(decoding: $0, as: UTF8.self) } }
        let secret = output.secret.withBytes { String(decoding: $0, as: UTF8.self) }
        return (Parts(user: user, secret: secret, expiry: output.expiry), nil)
      } catch {
        return (nil, error.sentence)
      }
    }
  }

  // MARK: git

  static let good: [(text: String, user: String?, secret: String, expiry: Int64?)] = [
    ("username=me\npassword=s3cret\n", "me", "s3cret", nil), ("password=s3cret", nil, "s3cret", nil),
    ("username=\npassword=s3cret\n", "", "s3cret", nil),
    ("password=s3=cr=et\nusername=a=b\n", "a=b", "s3=cr=et", nil), ("password= s3cret \n", nil, " s3cret ", nil),
    ("password=s3cret\n\npassword=other\nbroken\r\n", nil, "s3cret", nil),
    ("protocol=https\nhost=git.example.com\npath=team\nusername=me\npassword=s3cret\n\n", "me", "s3cret", nil),
    ("password=s3cret\npassword_expiry_utc=1800000001\n", nil, "s3cret", 1_800_000_001),
    (
      "wwwauth[]=Basic\nwwwauth[]=Bearer\ncapability[]=state\nstate[]=x\nephemeral=1\nnew=\npassword=x\n", nil, "x", nil
    ),
    ("quit=0\npassword=s3cret\n", nil, "s3cret", nil), ("PASSWORD=other\npassword=s3cret\n", nil, "s3cret", nil),
  ]

  @Test(arguments: good) func `the output of a git helper is read as git reads it`(
    _ row: (text: String, user: String?, secret: String, expiry: Int64?)
  ) {
    let found = read(row.text, .gitCredential(Self.git, stores: false))
    #expect(found.parts == Parts(user: row.user, secret: row.secret, expiry: row.expiry), "\(found.problem ?? "")")
  }

  static let bad: [(text: String, reason: String)] = [
    ("", "has no credential for https://git.example.com"), ("\n", "has no credential"),
    ("\npassword=s3cret\n", "has no credential"), ("username=me\n", "no password"),
    ("password=\n", "empty password"), ("password\n", "not key=value"), ("s3cret\n", "not key=value"),
    ("=s3cret\n", "without a key"), ("pass\0word=s3cret\n", "NUL"), ("password=s3\0cret\n", "NUL"),
    ("other=\0\npassword=s3cret\n", "NUL"), ("password=s3cret\r\n", "carriage return"),
    ("pass\rword=s3cret\n", "carriage return"), ("password=s3\rcret\n", "carriage return"),
    ("other=\r\npassword=s3cret\n", "carriage return"), ("\r\npassword=s3cret\n", "carriage return"),
    ("host=evil.example.com\npassword=s3cret\n", "another host"), ("host=\npassword=s3cret\n", "another host"),
    ("host=git.example.com:443\npassword=s3cret\n", "another host"),
    ("protocol=http\npassword=s3cret\n", "another protocol"), ("path=others\npassword=s3cret\n", "another path"),
    ("url=https://evil.example.com\npassword=s3cret\n", "a url"),
    ("password=one\npassword=s3cret\n", "password twice"), ("username=a\nusername=b\npassword=x\n", "username twice"),
    ("quit=1\n", "told git to stop"), ("quit=true\npassword=s3cret\n", "told git to stop"),
    ("password=s3cret\npassword_expiry_utc=1800000000\n", "expired 0 seconds ago"),
    ("password=s3cret\npassword_expiry_utc=1799999999\n", "expired 1 second ago"),
    ("password=s3cret\npassword_expiry_utc=0\n", "expired "),
    ("password=s3cret\npassword_expiry_utc=\n", "not a number"),
    ("password=s3cret\npassword_expiry_utc=-1\n", "not a number"),
    ("password=s3cret\npassword_expiry_utc=99999999999999999999\n", "not a number"),
    ("password=s3cret\npassword_expiry_utc= 1900000000\n", "not a number"),
    ("authtype=Bearer\ncredential=s3cret\n", "a user and a password are needed"),
  ]

  @Test(arguments: bad) func `T42: git helper output that is ambiguous or for another host is refused and not shown`(
    _ row: (text: String, reason: String)
  ) {
    let found = read(row.text, .gitCredential(Self.git, stores: false))
    #expect(found.parts == nil && found.problem?.contains(row.reason) == true, "\(found.problem ?? "")")
    for secret in ["s3", "evil", "ARGUMENT", "others"] { #expect(found.problem?.contains(secret) != true) }
  }

  @Test func `a git helper must return the requested user`() {
    let description = GitDescription(host: "git.example.com", path: nil, user: "me", acceptsToken: false)
    let format = CommandFormat.gitCredential(description, stores: false)
    #expect(read("username=me\npassword=x\n", format).parts?.user == "me")
    #expect(read("username=you\npassword=x\n", format).problem?.contains("another username") == true)
  }

  @Test(
    arguments: [
      ("authtype=Bearer\ncredential=s3cret\n", "s3cret", ""), ("authtype=bEARER\ncredential=s3cret\n", "s3cret", ""),
      ("username=me\npassword=s3cret\n", "s3cret", ""),
      ("authtype=Basic\ncredential=s3cret\n", nil, "authtype other than"),
      ("credential=s3cret\n", nil, "authtype other than"), ("authtype=Bearer\ncredential=\n", nil, "empty credential"),
      ("authtype=Bearer\ncredential=s3cret\ncontinue=1\n", nil, "several rounds"),
      ("authtype=Bearer\n", nil, "no password"),
    ] as [(String, String?, String)])
  func `a git helper's token is accepted only with authtype Bearer`(_ text: String, _ secret: String?, _ reason: String)
  {
    let found = read(text, .gitCredential(Self.token, stores: false))
    #expect(found.parts?.secret == secret)
    #expect(found.problem?.contains(reason) ?? (secret != nil), "\(found.problem ?? "")")
  }

  @Test func `T42: damaged helper output never traps, and never gives a value that could end a line`() {
    let whole = Array("username=me\npassword=s3cret\npassword_expiry_utc=1900000000\nhost=git.example.com\n".utf8)
    for end in 0...whole.count {
      _ = read(String(decoding: whole[..<end], as: UTF8.self), .gitCredential(Self.git, stores: true))
    }
    for index in whole.indices {
      for byte in [0, 0x0A, 0x0D, 0x3D, 0x20, 0x7F, 0x80, 0xFF] as [UInt8] {
        var changed = whole
        changed[index] = byte
        let text = String(decoding: changed, as: UTF8.self)
        for format in [
          CommandFormat.gitCredential(Self.git, stores: false), .execCredential, .dockerCredential(server: "x"),
        ] {
          let parts = read(text, format).parts
          for value in [parts?.user, parts?.secret].compactMap(\.self) {
            #expect(!value.utf8.contains { [0, 0x0A, 0x0D].contains($0) })
          }
        }
      }
    }
  }

  // MARK: Kubernetes

  private func exec(_ status: String, version: String = "v1", kind: String = "ExecCredential") -> String {
    #"{"apiVersion":"client.authentication.k8s.io/\#(version)","kind":"\#(kind)","status":\#(status)}"#
  }

  @Test func `an ExecCredential has a token and an optional expiry`() {
    for version in ["v1", "v1beta1"] {
      let found = read(exec(#"{"token":"s3cret"}"#, version: version), .execCredential)
      #expect(found.parts == Parts(user: nil, secret: "s3cret", expiry: nil), "\(found.problem ?? "")")
    }
    for (time, seconds) in [
      ("2027-01-15T08:00:01Z", 1_800_000_001), ("2027-01-15T09:00:01.123456789+01:00", 1_800_000_001),
    ] as [(String, Int64)] {
      let found = read(exec(#"{"token":"s3cret","expirationTimestamp":"\#(time)"}"#), .execCredential)
      #expect(found.parts?.expiry == seconds, "\(found.problem ?? "")")
    }
    #expect(
      read(exec(#"{"token":"s3cret","expirationTimestamp":null,"clientKeyData":null}"#), .execCredential).parts != nil)
  }

  @Test(arguments: [
    (#"{"token":"s3cret","expirationTimestamp":"2027-01-15T08:00:00Z"}"#, "expired "),
    (#"{"token":"s3cret","expirationTimestamp":"2027-02-30T08:00:00Z"}"#, "not an RFC 3339 time"),
    (#"{"token":"s3cret","expirationTimestamp":"2027-01-16"}"#, "not an RFC 3339 time"),
    (#"{"token":"s3cret","expirationTimestamp":1900000000}"#, "not an RFC 3339 time"),
    (#"{"token":"s3cret","expirationTimestamp":""}"#, "not an RFC 3339 time"),
    (#"{"token":"s3cret","clientCertificateData":"PEM","clientKeyData":"PEM"}"#, "client certificate"),
    (#"{"clientCertificateData":"PEM"}"#, "client certificate"),
    (#"{"token":"s3cret","clientKeyData":{}}"#, "client certificate"),
    (#"{"token":""}"#, "empty status.token"), (#"{"token":["s3cret"]}"#, "no status.token"), ("{}", "no status.token"),
    ("null", "no status"), (#""s3cret""#, "no status"), (#"{"token":"s3cret","token":"other"}"#, "ambiguous"),
    (#"{"token":"s3\u0000cret"}"#, "ambiguous"), (#"{"token":"s3cret"}} x"#, "ambiguous"),
    (#"{"token":"s3cret""#, "ambiguous"),
  ])
  func `T42: an invalid ExecCredential is refused and not shown`(_ status: String, _ reason: String) {
    let found = read(exec(status), .execCredential)
    #expect(found.parts == nil && found.problem?.contains(reason) == true, "\(found.problem ?? "")")
    #expect(found.problem?.contains("s3") != true)
  }

  @Test func `an ExecCredential needs the right apiVersion and kind`() {
    for (version, kind, reason) in [("v1alpha1", "ExecCredential", "apiVersion"), ("v1", "Pod", "(kind)")] {
      let found = read(exec(#"{"token":"s3cret"}"#, version: version, kind: kind), .execCredential)
      #expect(found.problem?.contains(reason) == true, "\(found.problem ?? "")")
    }
    for text in ["", "[]", "s3cret", "\u{FEFF}{}", String(repeating: "[", count: 100_000)] {
      #expect(read(text, .execCredential).problem != nil)
    }
  }

  // MARK: docker

  @Test(
    arguments: [
      (#"{"ServerURL":"https://registry.example.com","Username":"me","Secret":"s3cret"}"#, "me", "s3cret", ""),
      (#"{"Username":"<token>","Secret":"s3cret"}"#, nil, "s3cret", ""),
      (#"{"Username":"me","Secret":""}"#, nil, nil, "empty Secret"), (#"{"Username":"me"}"#, nil, nil, "no Secret"),
      (#"{"Secret":"s3cret"}"#, nil, nil, "no Username"),
      (#"{"Username":1,"Secret":"s3cret"}"#, nil, nil, "no Username"),
      (#"{"Username":"me","Secret":"s3cret","Secret":"x"}"#, nil, nil, "ambiguous"),
      ("credentials not found in native keychain", nil, nil, "not a valid JSON object"),
    ] as [(String, String?, String?, String)])
  func `a docker helper returns a user and a secret`(
    _ text: String, _ user: String?, _ secret: String?, _ reason: String
  ) {
    let found = read(text, .dockerCredential(server: "registry.example.com"))
    #expect(found.parts?.user == user && found.parts?.secret == secret, "\(found.problem ?? "")")
    #expect(found.problem?.contains(reason) ?? (secret != nil), "\(found.problem ?? "")")
    #expect(found.problem?.contains("s3") != true)
  }

  // MARK: lifetimes

  @Test(
    arguments: [
      (1_800_000_000, 0), (1_799_999_999, 0), (.min, 0), (1_800_000_001, 450), (1_800_000_010, 8_550),
      (1_800_003_600, 3_589_500), (.max, .max),
    ] as [(Int64, UInt64)])
  func `a value is used until shortly before its expiry`(_ expiry: Int64, _ lifetime: UInt64) {
    let found = SourceValue.lifetime(until: expiry, now: (Self.now, 500_000))
    #expect(lifetime == .max ? found > 1 << 62 : found == lifetime)
  }
}
