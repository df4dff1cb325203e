import Foundation
import TestSupport
import Testing

@Suite struct ErrorsTests {
  @Test
  func `errors explains a code: who refused, what happened and what to do`() throws {
    let run = try Run("errors", "pin-mismatch")
    #expect(run.status == 0)
    #expect(run.output.hasPrefix("pin-mismatch  status 502, gRPC UNAVAILABLE, error=tls_certificate_error\n"))
    #expect(run.output == (try golden("errors-pin-mismatch.txt", for: run.output)))
    #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(run.output)")
  }

  @Test
  func `errors accepts the type URN and the reason of a malformed request`() throws {
    #expect(try Run("errors", "urn:bearerd:error:no-rule").output == (try Run("errors", "no-rule").output))
    let malformed = try Run("errors", "bareLineFeed")
    #expect(malformed.output.hasPrefix("malformed-request  status 400"))
    #expect(malformed.output.contains("\n  `bareLineFeed`: "))
  }

  @Test
  func `errors lists every code of the reference, in its order`() throws {
    let page = try String(contentsOfFile: "\(repositoryRoot)/docs/reference/errors/README.md", encoding: .utf8)
    let codes = page.matches(of: /\n\| \[`([a-z0-9-]+)`/).map { String($0.1) }
    #expect(codes.count > 40)
    let listed = try Run("errors").output.matches(of: /\n +\d{3}  ([a-z0-9-]+)/).map { String($0.1) }
    #expect(listed == codes)
  }

  @Test
  func `errors suggests the right code and escapes control characters`() throws {
    let near = try Run("errors", "pin-missmatch")
    #expect(near.status == 2)
    let far = try Run("errors", "\u{1B}[31mxyzzy")
    #expect(far.status == 2 && !far.errors.contains("\u{1B}"))
    let errors = near.errors + far.errors
    #expect(errors == (try golden("errors-unknown.txt", for: errors)))
  }
}
