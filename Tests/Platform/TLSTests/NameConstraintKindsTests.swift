import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// RFC 5280 section 4.2.1.6 has nine kinds of name constraints. Only DNS names and addresses apply to a host. OpenSSL
/// uses a different structure for each kind, so that reading a constraint as the wrong kind is a memory error.
@Suite struct NameConstraintKindsTests {
  /// The names of the test's certificates that a subtree covers.
  enum Cover: Sendable { case nothing, name, address, subject, otherSubjects }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A GeneralName in DER.
    let base: [UInt8]
    var cover = Cover.nothing

    init(_ name: String, _ base: [UInt8], covers cover: Cover = .nothing) {
      (testDescription, self.base, self.cover) = (name, base, cover)
    }
  }

  /// Two object identifiers. OpenSSL has a name only for the second.
  private static let (unknown, known): ([UInt8], [UInt8]) = ([0x2A, 3, 4, 5], [0x55, 4, 3])

  static let rows = [
    Row("otherName", element(0xA0, element(0x06, unknown), element(0xA0, text("x")))),
    // The user principal name of Windows.
    Row(
      "otherName of a known kind",
      element(0xA0, element(0x06, [0x2B, 6, 1, 4, 1, 0x82, 0x37, 20, 2, 3]), element(0xA0, text("@up.test")))),
    Row("rfc822Name", element(0x81, "up.test")),
    Row("dNSName", element(0x82, "up.test"), covers: .name),
    Row("dNSName of another", element(0x82, "other.test")),
    Row("x400Address", element(0xA3, element(0x30, element(0x61, element(0x13, "DE"))))),
    Row("directoryName", directory("leaf"), covers: .subject),
    Row("directoryName of another", directory("other"), covers: .otherSubjects),
    Row("ediPartyName", element(0xA5, element(0xA1, text("x")))),
    Row("ediPartyName with an assigner", element(0xA5, element(0xA0, text("y")), element(0xA1, text("x")))),
    Row("uniformResourceIdentifier", element(0x86, "up.test")),
    Row("iPAddress", element(0x87, [127, 0, 0, 0, 255, 0, 0, 0]), covers: .address),
    Row("iPAddress of another", element(0x87, [10, 0, 0, 0, 255, 0, 0, 0])),
    Row("registeredID", element(0x88, unknown)),
    Row("registeredID of a known kind", element(0x88, known)),
  ]

  /// Subtrees that permit both hosts.
  private static let hosts = [element(0x82, "up.test"), element(0x87, [127, 0, 0, 0, 255, 0, 0, 0])]

  @Test(arguments: rows, ["www.up.test", "127.0.0.1"])
  func `T65: a name constraint applies to a host only if it is of the host's kind`(row: Row, host: String) throws {
    let isName = host == "www.up.test"
    let host = try HostName(parsing: host)
    let isCovered = isName ? row.cover == .name : row.cover == .address
    let beside = try authority(permitting: Self.hosts + [row.base])
    let excluding = try authority(permitting: Self.hosts, excluding: [row.base])
    // Each round uses other memory addresses.
    for _ in 0..<50 {
      #expect(try mayVouch(beside, host) == [true])
      #expect(try mayVouch(excluding, host) == [!isCovered])
    }
    let isOfAnother = row.testDescription == (isName ? "dNSName of another" : "iPAddress of another")
    #expect(try mayVouch(try authority(permitting: [row.base]), host) == [!isOfAnother])
  }

  /// OpenSSL checks the subject and the names of the leaf against constraints of the same kind.
  @Test(arguments: rows, ["www.up.test", "127.0.0.1"])
  func `T65: a handshake gives the right result for every kind of name constraint`(row: Row, host: String) throws {
    let isName = host == "www.up.test"
    let isCovered = row.cover == .subject || (isName ? row.cover == .name : row.cover == .address)
    for _ in 0..<3 {
      let permitted = try authority(permitting: Self.hosts + [row.base])
      #expect(try isAccepted(permitted, host) == (row.cover != .otherSubjects))
      let excluded = try authority(permitting: Self.hosts, excluding: [row.base])
      #expect(try isAccepted(excluded, host) == !isCovered)
    }
  }

  @Test(arguments: [
    // OpenSSL cannot compare these kinds. A leaf with such a name is refused if an authority constrains the kind.
    ("registeredID", "RID:1.2.3.4.5", (false, false)),
    ("otherName", "otherName:1.2.3.4.5;UTF8:x", (false, false)),
    ("otherName", "otherName:1.2.3.4.6;UTF8:x", (true, true)),
    ("otherName", "RID:1.2.3.4.5", (true, true)),
    ("rfc822Name", "email:a@up.test", (true, false)),
    ("rfc822Name", "email:a@other.test", (false, true)),
    ("uniformResourceIdentifier", "URI:https://up.test/", (true, false)),
    ("uniformResourceIdentifier", "URI:https://other.test/", (false, true)),
  ])
  func `T65: OpenSSL checks the other names of a leaf certificate`(
    kind: String, name: String, isAccepted expected: (permitted: Bool, excluded: Bool)
  ) throws {
    let row = try #require(Self.rows.first { $0.testDescription == kind })
    let permitted = try authority(permitting: Self.hosts + [row.base])
    #expect(try isAccepted(permitted, "www.up.test", with: name) == expected.permitted)
    let excluded = try authority(permitting: Self.hosts, excluding: [row.base])
    #expect(try isAccepted(excluded, "www.up.test", with: name) == expected.excluded)
  }

  @Test(arguments: ["rfc822Name", "uniformResourceIdentifier"])
  func `T65: a constraint on e-mail addresses or URIs excludes no host`(kind: String) throws {
    let row = try #require(Self.rows.first { $0.testDescription == kind })
    #expect(try mayVouch(authority(excluding: [row.base]), try HostName(parsing: "up.test")) == [true])
  }

  @Test func `T65: a malformed name constraint refuses every host`() throws {
    let host = try HostName(parsing: "www.up.test")
    for base: [UInt8] in [[], element(0x89, "x"), element(0xA2, "up.test"), Self.hosts.reduce([], +)] {
      #expect(try mayVouch(authority(excluding: [base]), host) == [false], "\(base)")
    }
  }

  /// Reading the wrong structure crashes about every second process, because the addresses differ. Therefore six
  /// processes.
  @Test(arguments: 0..<6) func `no kind of name constraint crashes the process`(_: Int) async {
    await #expect(processExitsWith: .success) {
      for row in NameConstraintKindsTests.rows {
        for constrained in [try authority(permitting: [row.base]), try authority(excluding: [row.base])] {
          for host in ["www.other.example", "192.0.2.1"] {
            for _ in 0..<20 { _ = try mayVouch(constrained, try HostName(parsing: host)) }
          }
        }
      }
    }
  }
}

/// A root with these subtrees. The bases are GeneralNames in DER, because OpenSSL's configuration cannot write all
/// kinds.
private func authority(permitting permitted: [[UInt8]] = [], excluding excluded: [[UInt8]] = []) throws -> Certificate {
  func subtrees(_ tag: UInt8, _ bases: [[UInt8]]) -> [UInt8] {
    bases.isEmpty ? [] : element(tag, bases.flatMap { element(0x30, $0) })
  }
  let constraints = element(0x30, subtrees(0xA0, permitted), subtrees(0xA1, excluded))
  var options = Certificate.Options()
  (options.isCA, options.commonName) = (true, "constrained")
  options.nameConstraints = "DER:" + constraints.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  return try Certificate(options)
}

private func mayVouch(_ authority: Certificate, _ host: HostName) throws -> [Bool] {
  try Certificates.mayIssue(file: Array(authority.pem.utf8), for: host)
}

/// Whether a handshake with a leaf of this authority for the host succeeds. `other` is an additional name of the leaf,
/// in the syntax of x509v3_config(5).
private func isAccepted(_ authority: Certificate, _ host: String, with other: String? = nil) throws -> Bool {
  var options = Certificate.Options()
  options.commonName = "leaf"
  switch try HostName(parsing: host) {
  // The names are joined by commas.
  case .name: options.dnsNames = [host + (other.map { ",\($0)" } ?? "")]
  case .address: options.ipAddresses = [host]
  }
  let chain = [try Certificate(options, issuer: authority)]
  let server = try UpstreamServer(chain: chain, options: .init(), handler: echo)
  defer { server.stop() }
  let context = try context(try TrustStore(pem: Array(authority.pem.utf8), name: "trust"), host: host)
  do {
    var client = try Client.connect(context, port: server.port)
    defer { client.closeNotify() }
    return try client.exchange("hello") == "hello"
  } catch let error as TLSError {
    #expect(error.kind == .certificateInvalid, "\(error)")
    return false
  }
}

/// A DER element (X.690) with less than 256 bytes.
private func element(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
  let content = parts.flatMap { $0 }
  return [tag] + (content.count < 0x80 ? [] : [0x81]) + [UInt8(content.count)] + content
}

private func element(_ tag: UInt8, _ text: String) -> [UInt8] { element(tag, Array(text.utf8)) }

/// A UTF8String.
private func text(_ text: String) -> [UInt8] { element(0x0C, text) }

/// A directoryName with one common name.
private func directory(_ name: String) -> [UInt8] {
  let attribute = element(0x30, element(0x06, [0x55, 4, 3]), text(name))
  return element(0xA4, element(0x30, element(0x31, attribute)))
}
