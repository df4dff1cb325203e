import Glibc
import TestSupport
import Testing

/// Code that the compiler must reject. Each row also has similar code that compiles.
@Suite struct CompileTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Expected text in the compiler's error.
    let refusal: String
    let bad: String
    let good: String
  }

  static let rows: [Row] = [
    Row(
      testDescription: "A secret is not copied", refusal: "consumed",
      bad: "func f(_ s: borrowing Secret) -> Secret { s }", good: "func f(_ s: consuming Secret) -> Secret { s }"),
    Row(
      testDescription: "A secret is not used twice", refusal: "consumed",
      bad: "func g(_ s: consuming Secret) {}; func f(_ s: consuming Secret) { g(s); g(s) }",
      good: "func g(_ s: consuming Secret) {}; func f(_ s: consuming Secret) { g(s) }"),
    Row(
      testDescription: "A secret is not printed", refusal: "Copyable",
      bad: "func f(_ s: borrowing Secret) { print(s) }", good: "func f(_ s: Int) { print(s) }"),
    Row(
      testDescription: "A secret is not interpolated", refusal: "Copyable",
      bad: #"func f(_ s: borrowing Secret) -> String { "\(s)" }"#, good: #"func f(_ s: Int) -> String { "\(s)" }"#),
    Row(
      testDescription: "A secret is not dumped", refusal: "Copyable",
      bad: "func f(_ s: borrowing Secret) { dump(s) }", good: "func f(_ s: Int) { dump(s) }"),
    Row(
      testDescription: "A secret is not boxed", refusal: "Copyable",
      bad: "func f(_ s: consuming Secret) -> Any { s }", good: "func f(_ s: Int) -> Any { s }"),
    Row(
      testDescription: "A secret is not put in an array", refusal: "Copyable",
      bad: "func f(_ s: consuming Secret) -> [Secret] { [s] }", good: "func f(_ s: Int) -> [Int] { [s] }"),
    Row(
      testDescription: "A secret is not captured by a closure that escapes", refusal: "captured by an escaping closure",
      bad:
        "func g(_ c: @escaping () -> Void) {}; func h(_ s: borrowing Secret) {}; func f(_ s: borrowing Secret) { g { h(s) } }",
      good: "func g(_ c: () -> Void) {}; func h(_ s: borrowing Secret) {}; func f(_ s: borrowing Secret) { g { h(s) } }"
    ),
    Row(
      testDescription: "A secret's bytes are not read outside", refusal: "inaccessible",
      bad: "func f(_ s: borrowing Secret) { s.withBytes { _ in } }",
      good: "func f(_ s: borrowing Secret) { _ = s.count == 0 }"),
    // T53: `==` may stop at the first byte that differs.
    Row(
      testDescription: "A secret is not compared by ==", refusal: "cannot be applied to two 'Secret' operands",
      bad: "func f(_ a: borrowing Secret, _ b: borrowing Secret) -> Bool { a == b }",
      good: "func f(_ a: Int, _ b: Int) -> Bool { a == b }"),
    Row(
      testDescription: "A secret is not made outside", refusal: "inaccessible",
      bad: "func f() throws { _ = try Secret(capacity: 1, in: nil!) }",
      good: "func f() throws { _ = AuthorizationError(reason: .unavailable, detail: \"\") }"),
    Row(
      testDescription: "authorize takes only a verified session", refusal: "cannot convert value of type",
      bad: authorizeSource("Handshake"), good: authorizeSource("VerifiedSession")),
    Row(
      testDescription: "authorize takes no other connection", refusal: "cannot convert value of type",
      bad: "struct Plain: ~Copyable {}; " + authorizeSource("Plain"),
      good: "struct Plain: ~Copyable {}; " + authorizeSource("VerifiedSession")),
    Row(
      testDescription: "authorize for HTTP/2 takes only a verified session", refusal: "cannot convert value of type",
      bad: http2Source("Handshake"), good: http2Source("VerifiedSession")),
    Row(
      testDescription: "An encoder sends only to a verified session", refusal: "does not conform to protocol",
      bad: encoderSource("Handshake"), good: encoderSource("VerifiedSession")),
    Row(
      testDescription: "A credential is not encoded outside", refusal: "cannot find 'CredentialParts' in scope",
      bad: "func f(_ b: UnsafeRawBufferPointer) { _ = CredentialParts(lines: b, jar: nil) }",
      good:
        "@testable import Credentials; func f(_ b: UnsafeRawBufferPointer) { _ = CredentialParts(lines: b, jar: nil) }"
    ),
    Row(
      testDescription: "A verified session is not made by hand", refusal: "inaccessible",
      bad:
        "func f(_ p: SessionProof, _ s: consuming VerifiedSession) { _ = VerifiedSession(proof: p, connection: nil!) }",
      good: "func f(_ h: consuming Handshake, _ m: Moment) throws { _ = try h.verified(now: m) }"),
    Row(
      testDescription: "A proof is not made by hand", refusal: "inaccessible",
      bad:
        "func f(_ p: SessionProof) { _ = SessionProof(identity: p.identity, applicationProtocol: .http1, isProtocolSelected: true, nil!, isResumed: false) }",
      good: "func f(_ p: SessionProof) -> Bool { p.pins == .matched }"),
    Row(
      testDescription: "A handshake carries no bytes", refusal: "no member 'write'",
      bad: "func f(_ h: inout Handshake, _ b: [UInt8]) throws { try h.write(b.span) }",
      good: "func f(_ h: inout VerifiedSession, _ b: [UInt8]) throws { try h.write(b.span) }"),
    Row(
      testDescription: "A handshake verifies once", refusal: "consumed",
      bad:
        "func f(_ h: consuming Handshake, _ m: Moment) throws { _ = try h.verified(now: m); _ = try h.verified(now: m) }",
      good: "func f(_ h: consuming Handshake, _ m: Moment) throws { _ = try h.verified(now: m) }"),
  ]

  private static func authorizeSource(_ session: String) -> String {
    """
    func f(_ k: Keyring, _ c: Caller, _ b: [UInt8], _ s: inout \(session)) throws {
      try k.authorize(grant: 0, request: OutgoingRequest(), body: b.span, caller: c, now: 0, over: &s)
    }
    """
  }

  private static func http2Source(_ session: String) -> String {
    """
    import HTTP2
    func f(_ k: Keyring, _ c: Caller, _ b: [UInt8], _ h: HTTP2Session, _ s: inout \(session)) throws {
      try k.authorize(
        grant: 0, request: OutgoingRequest(), body: b.span, endsBody: true, caller: c, now: 0, through: h, over: &s)
    }
    """
  }

  private static func encoderSource(_ session: String) -> String {
    """
    @testable import Credentials
    struct E: HeadEncoder {
      var applicationProtocol: ApplicationProtocol { .http2 }
      func content(of r: borrowing OutgoingRequest, in b: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? { nil }
      func send(
        _ r: borrowing OutgoingRequest, with c: borrowing CredentialParts, body: Span<UInt8>, over s: inout \(session)
      ) throws(AuthorizationError) {}
    }
    """
  }

  @Test(arguments: rows) func `the compiler rejects every unsafe use of a secret or a session`(row: Row) throws {
    let compiler = try Compiler()
    let good = compiler.check(row.good)
    #expect(good.isSuccess, "\(good.output)")
    let bad = compiler.check(row.bad)
    #expect(!bad.isSuccess)
    #expect(bad.output.contains(row.refusal), "\(bad.output)")
  }
}

/// Type-checks small sources against the modules that this test was built with, as a file of the same package.
private struct Compiler {
  private let scratch: Scratch
  private let modules: String
  private let sources: String
  private let package: String

  init() throws {
    scratch = try Scratch()
    sources = repositoryRoot + "/Sources/Platform"
    package = try #require(repositoryRoot.split(separator: "/").last).lowercased()
    // BUILD/bearerdPackageTests.xctest
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    try #require(length > 0)
    let executable = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    modules = "/" + executable.split(separator: "/").dropLast().joined(separator: "/") + "/Modules"
  }

  func check(_ source: String) -> (output: String, isSuccess: Bool) {
    let imports = "import Credentials\nimport HTTP1\nimport Policy\nimport Secrets\nimport TLS\n"
    guard let path = try? scratch.write("check.swift", imports + source + "\n") else { return ("", false) }
    let maps = ["CJansson", "CNghttp2", "CZlib", "COpenSSL", "CLinux"].map { "-I '\(sources)/\($0)'" }.joined(
      separator: " ")
    // -emit-sil: ownership is checked after the types
    return run(
      "swiftc -emit-sil -o /dev/null -parse-as-library -swift-version 6 -package-name '\(package)' -I '\(modules)' \(maps) '\(path)'"
    )
  }
}
