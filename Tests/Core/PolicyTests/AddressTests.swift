import Policy
import TestSupport
import Testing

@Suite struct AddressTests {
  static let texts: [(String, String?)] = [
    ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
    ("::1", "::1"),
    ("1::", "1::"), ("2001:DB8::1", "2001:db8::1"), ("2001:db8:0:0:0:0:0:1", "2001:db8::1"), ("0:0:0:0:0:0:0:0", "::"),
    ("2001:0db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
    ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("::ffff:1.2.3.4", "1.2.3.4"), ("::ffff:102:304", "1.2.3.4"),
    ("::1.2.3.4", "::102:304"),
    ("64:ff9b::1.2.3.4", "64:ff9b::102:304"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
    ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("", nil), ("127.1", nil), ("2130706433", nil), ("0x7f.1", nil),
    ("0x7f000001", nil),
    ("0177.0.0.1", nil), ("127.0.0.01", nil), ("127.0.0.256", nil), ("127.0.0.1.", nil), ("127.0.0.1.1", nil),
    (".127.0.0.1", nil),
    ("127..0.1", nil), (" 127.0.0.1", nil), ("127.0.0.1 ", nil), ("+1.2.3.4", nil), ("1.2.3.-4", nil),
    ("1e1.2.3.4", nil),
    ("1.2.3.4444444444444444444444", nil), ("١.2.3.4", nil), (":", nil), (":::", nil), ("::1::", nil), ("1::2::3", nil),
    (":1", nil),
    ("1:", nil), ("1:2:3:4:5:6:7", nil), ("1:2:3:4:5:6:7:8:9", nil), ("1:2:3:4:5:6:7:8::", nil),
    ("::1:2:3:4:5:6:7:8", nil),
    ("12345::", nil), ("g::", nil), ("fe80::1%eth0", nil), ("[::1]", nil), ("::1/128", nil), ("::1.2.3", nil),
    ("1.2.3.4::", nil),
    ("::1.2.3.4:5", nil), ("::ffff:1.2.3.400", nil), ("1:2:3:4:5:6:7:1.2.3.4", nil), ("-1::", nil), ("+1::", nil),
  ]

  @Test(arguments: texts) func `addresses are parsed strictly and written in canonical form`(
    _ text: String, _ canonical: String?
  ) {
    let address = IPAddress(parsing: text)
    #expect(address?.description == canonical)
    if let address { #expect(IPAddress(parsing: address.description) == address) }
  }

  @Test func `an address consists of 4 or 16 bytes`() {
    for count in [0, 1, 3, 5, 15, 17, 32] { #expect(IPAddress(bytes: [UInt8](repeating: 1, count: count)) == nil) }
    #expect(
      IPAddress(bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4]) == IPAddress(bytes: [1, 2, 3, 4]))
  }

  @Test func `a written address is parsed back unchanged`() {
    var random = SeededGenerator(state: 3)
    for _ in 0..<5000 {
      let bytes = (0..<16).map { _ in Bool.random(using: &random) ? 0 : UInt8.random(in: 0...255, using: &random) }
      let address = IPAddress(bytes: bytes)
      #expect(address.flatMap { IPAddress(parsing: $0.description) } == address)
    }
  }

  static let forbidden: [(String, Bool)] = [
    ("127.0.0.1", true), ("127.255.255.255", true), ("0.0.0.0", true), ("0.1.2.3", true), ("169.254.169.254", true),
    ("169.254.0.1", true),
    ("224.0.0.1", true), ("239.1.1.1", true), ("255.255.255.255", true), ("100.100.100.200", true),
    ("168.63.129.16", true),
    ("::", true), ("::1", true), ("fe80::1", true), ("febf::1", true), ("ff02::1", true), ("fd00:ec2::254", true),
    ("fd20:ce::254", true),
    ("::ffff:127.0.0.1", true), ("::ffff:169.254.169.254", true), ("::127.0.0.1", true), ("::ffff:0:127.0.0.1", true),
    ("64:ff9b::127.0.0.1", true), ("64:ff9b::a9fe:a9fe", true), ("64:ff9b:1::127.0.0.1", true),
    ("64:ff9b:1:7f00:0:100::", true),
    ("2002:7f00:1::", true), ("2002:a9fe:a9fe::1", true), ("2002:0:0::1", true),
    ("10.0.0.1", false), ("172.16.0.1", false), ("192.168.1.1", false), ("100.64.0.1", false), ("8.8.8.8", false),
    ("128.0.0.1", false),
    ("126.255.255.255", false), ("169.253.1.1", false), ("fd00::1", false), ("fc00::1", false), ("2001:db8::1", false),
    ("fec0::1", false),
    ("2606:4700::1111", false), ("64:ff9b::8.8.8.8", false), ("2002:808:808::1", false), ("::ffff:8.8.8.8", false),
    ("64:ff9b:1::8.8.8.8", true),
  ]

  @Test(arguments: forbidden) func `loopback, link-local, multicast and metadata addresses are forbidden by default`(
    _ text: String, _ isForbidden: Bool
  ) throws {
    #expect(try #require(IPAddress(parsing: text)).isForbiddenByDefault == isForbidden)
  }

  @Test func `loopback addresses are recognized`() {
    for (text, isLoopback) in [
      ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("128.0.0.1", false),
      ("::2", false), ("::", false), ("fe80::1", false),
    ] {
      #expect(IPAddress(parsing: text)?.isLoopback == isLoopback)
    }
  }

  static let blocks: [(String, String, Bool?)] = [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
    ("10.0.0.0/8", "fd00::1", false),
    ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false), ("::/0", "1.2.3.4", false), ("::/0", "::1", true),
    ("1.2.3.4", "1.2.3.4", true),
    ("1.2.3.4", "1.2.3.5", false), ("1.2.3.4/32", "1.2.3.4", true), ("1.2.3.0/31", "1.2.3.1", true),
    ("1.2.3.0/31", "1.2.3.2", false),
    ("172.16.0.0/12", "172.31.255.255", true), ("172.16.0.0/12", "172.32.0.0", false), ("fd00::/8", "fdff::1", true),
    ("fd00::/8", "fe00::1", false),
    ("fe80::/10", "febf::1", true), ("fe80::/10", "fec0::1", false), ("::ffff:10.0.0.0/104", "10.1.2.3", true),
    ("::1/128", "::1", true),
    ("10.0.0.0/33", "", nil), ("::/129", "", nil), ("10.0.0.0/-1", "", nil), ("10.0.0.0/08", "", nil),
    ("10.0.0.0/+8", "", nil), ("10.0.0.0/", "", nil),
    ("10.0.0.1/8", "", nil), ("10/8", "", nil), ("10.0.0.0/8/8", "", nil), ("/8", "", nil), ("", "", nil),
    ("::ffff:10.0.0.0/95", "", nil), ("x/8", "", nil),
    ("10.0.0.0/99999999999999999999", "", nil),
  ]

  @Test(arguments: blocks) func `a block contains exactly its addresses, and malformed blocks are rejected`(
    _ block: String, _ address: String, _ contains: Bool?
  ) {
    let block = AddressBlock(parsing: block)
    #expect((block == nil) == (contains == nil))
    if let address = IPAddress(parsing: address) { #expect(block?.contains(address) == contains) }
  }

  @Test func `an upstream permits an address only if its URL and its allowed blocks do`() throws {
    let rows: [(String, [String], [(String, Bool)])] = [
      (
        "https://api.example.com", [],
        [
          ("8.8.8.8", true), ("10.0.0.1", true), ("fd00::1", true), ("127.0.0.1", false), ("::1", false),
          ("169.254.169.254", false), ("64:ff9b::7f00:1", false),
        ]
      ),
      (
        "https://api.example.com", ["169.254.0.0/16", "127.0.0.1"],
        [("169.254.1.1", true), ("127.0.0.1", true), ("127.0.0.2", false), ("8.8.8.8", true)]
      ),
      ("https://127.0.0.1:8443", [], [("127.0.0.1", true), ("127.0.0.2", false), ("8.8.8.8", false)]),
      ("https://[::1]:8443", [], [("::1", true), ("127.0.0.1", false)]),
      ("https://169.254.1.1", [], [("169.254.1.1", true)]),
      ("https://localhost", [], [("127.0.0.1", true), ("::1", true), ("8.8.8.8", false), ("10.0.0.1", false)]),
      ("https://x.localhost", ["10.0.0.0/8"], [("127.0.0.1", true), ("10.0.0.1", true), ("11.0.0.1", false)]),
      ("http://api.example.com", ["0.0.0.0/0"], [("8.8.8.8", false), ("127.0.0.1", false)]),
      ("http://localhost:1", ["0.0.0.0/0"], [("127.0.0.1", true), ("8.8.8.8", false)]),
    ]
    for (url, blocks, addresses) in rows {
      var upstream = try Upstream(parsing: url)
      upstream.allowedAddresses = blocks.compactMap(AddressBlock.init)
      for (address, isPermitted) in addresses {
        #expect(upstream.permits(try #require(IPAddress(parsing: address))) == isPermitted, "\(url) \(address)")
      }
    }
  }

  @Test func `with a server name, the host in the URL still decides which addresses are permitted`() throws {
    let rows: [(String, String, [(String, Bool)])] = [
      ("https://127.0.0.1:8443", "api.example.com", [("127.0.0.1", true), ("127.0.0.2", false), ("8.8.8.8", false)]),
      ("https://169.254.1.1", "api.example.com", [("169.254.1.1", true), ("8.8.8.8", false)]),
      ("https://localhost", "api.example.com", [("127.0.0.1", true), ("::1", true), ("8.8.8.8", false)]),
      ("https://lb.example.com", "localhost", [("127.0.0.1", false), ("::1", false), ("8.8.8.8", true)]),
      ("https://lb.example.com", "127.0.0.1", [("127.0.0.1", false), ("169.254.169.254", false), ("10.0.0.1", true)]),
    ]
    for (url, name, addresses) in rows {
      var upstream = try Upstream(parsing: url)
      upstream.setServerName(try HostName(parsing: name))
      for (address, isPermitted) in addresses {
        #expect(
          upstream.permits(try #require(IPAddress(parsing: address))) == isPermitted, "\(url) \(name) \(address)")
      }
    }
  }
}
