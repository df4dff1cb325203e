import HTTP1
import Policy
import Testing

/// Names in `hosts` that are not loopback names. For these, browsers send no Sec-Fetch-Site, and no Origin with a
/// simple GET.
@Suite struct NamedHostTests {
  static let names = [
    "localhost:7070", "127.0.0.1:7070", "127.0.0.2:7070", "[::1]:7070", "github.localhost:7070",
    "host.docker.internal:7070",
    "172.17.0.1:7070", "[fd00::1]:7070", "localhost.test:7070", "notlocalhost:7070", "[::ffff:127.0.0.1]:7070",
  ]
  static let loopback: Set<String> = [
    "localhost:7070", "127.0.0.1:7070", "127.0.0.2:7070", "[::1]:7070", "github.localhost:7070",
  ]

  static let agent = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
  static let headless =
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0\r\n"
  static let languages = "Accept-Language: en-US,en;q=0.5\r\n"
  static let page = "Origin: https://app.test\r\n"

  func admit(_ fields: String, host: String, listed: [String] = []) throws -> Result<AdmittedRequest, PolicyRefusal> {
    let admission = try AdmissionTests().pages(listed, names: Self.names)
    let head = try AdmissionTests().read(fields, host: host)
    return Result { () throws(PolicyRefusal) in try admission.admit(head, caller: caller, listener: 0) }
  }

  @Test(arguments: names) func `T2: a request that looks like a browser's is admitted by loopback names only`(
    _ host: String
  ) throws {
    let rows = [
      Self.agent + Self.languages, Self.languages + Self.agent, "accept-language:\r\nuser-agent: Mozilla/\r\n",
      Self.agent + Self.languages + "Sec-Fetch-Mode: navigate\r\n", Self.agent + "User-Agent: x\r\n" + Self.languages,
      Self.agent + Self.languages + "Referer: http://\(host)/\r\n",
      // Headless browsers send no Accept-Language, and a page decides whether there is a Referer.
      Self.agent, Self.headless, Self.headless + "Referer: http://page.test/\r\n", "User-Agent: Mozilla/ Gecko/\r\n",
    ]
    for fields in rows {
      for listed in [[], ["https://app.test"]] {
        switch try admit(fields, host: host, listed: listed) {
        case .success(let request): #expect(Self.loopback.contains(host) && !request.isSandboxed, "\(fields)")
        case .failure(let refusal): #expect(!Self.loopback.contains(host) && refusal == .siteUnknown, "\(fields)")
        }
      }
    }
  }

  @Test(arguments: names) func `T2: programs are admitted by every name`(_ host: String) throws {
    for (name, fields) in AdmissionTests.programs {
      let request = try admit(fields, host: host).get()
      #expect(request.isSandboxed == (name == "a person's browser" || !Self.loopback.contains(host)), "\(name)")
    }
  }

  @Test func `T2: a listed page is admitted by every name, and other pages by none`() throws {
    let browser = Self.agent + Self.languages
    for host in Self.names {
      let listed = try admit(browser + Self.page, host: host, listed: ["https://app.test"]).get()
      #expect(listed.page.map(text) == "https://app.test" && listed.isSandboxed == !Self.loopback.contains(host))
      #expect(try admit(browser + Self.page, host: host) == .failure(.originNotAllowed))
      #expect(try admit(browser + "Sec-Fetch-Site: cross-site\r\n", host: host) == .failure(.crossSite))
      #expect(throws: Never.self) { try admit(browser + "Sec-Fetch-Site: none\r\n", host: host).get() }
    }
  }

  @Test func `T2: if a client token is required, the user agent does not matter`() throws {
    let ci = Client(name: "ci", digests: [])
    let admission = try AdmissionTests().pages([], names: Self.names, clients: [ci])
    let head = try AdmissionTests().read(Self.agent + Self.languages, host: "host.docker.internal:7070")
    #expect(throws: PolicyRefusal.clientTokenMissing) { try admission.admit(head, caller: caller, listener: 0) }
  }
}
