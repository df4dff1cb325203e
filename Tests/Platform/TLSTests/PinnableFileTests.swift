import Foundation
import Policy
import TLS
import TestSupport
import Testing

/// Files for `bearerctl pin`: certificates, public keys and certificate requests.
@Suite(.enabled(if: hasCommand("openssl"), "needs openssl")) struct PinnableFileTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Runs a shell script in the temporary directory, and returns its output.
  @discardableResult
  private func shell(_ script: String) throws -> String {
    let result = try run(["sh", "-e", "-c", "cd '\(scratch.path)'; \(script)"])
    try #require(result.status == 0, "\(result.errors)")
    return result.output
  }

  private func read(_ name: String) throws -> PinnableFile {
    try PinnableFile(Array(Data(contentsOf: URL(fileURLWithPath: "\(scratch.path)/\(name)"))), name: name)
  }

  private func problem(_ name: String) throws -> String? {
    do throws(TLSError) {
      _ = try PinnableFile(Array(contents(name)), name: name)
      return nil
    } catch { return error.detail }
  }

  private func contents(_ name: String) -> Data {
    FileManager.default.contents(atPath: "\(scratch.path)/\(name)") ?? Data()
  }

  /// Creates `key.pem`, and the request, certificate and public key for it in PEM and DER.
  private func makeFiles(_ algorithm: String) throws {
    try shell(
      """
      openssl genpkey -quiet -algorithm \(algorithm) -out key.pem 2>/dev/null || openssl genpkey -algorithm \(algorithm) -out key.pem
      openssl pkey -in key.pem -pubout -out public.pem
      openssl pkey -in key.pem -pubout -outform DER -out public.der
      openssl req -new -key key.pem -subj /CN=upstream -out request.pem
      openssl req -in request.pem -outform DER -out request.der
      openssl req -x509 -key key.pem -subj /CN=upstream -days 2 -out certificate.pem
      openssl x509 -in certificate.pem -outform DER -out certificate.der
      """)
  }

  static let algorithms = [
    ("EC -pkeyopt ec_paramgen_curve:P-256", "EC prime256v1"), ("EC -pkeyopt ec_paramgen_curve:P-384", "EC secp384r1"),
    ("RSA -pkeyopt rsa_keygen_bits:2048", "RSA 2048"), ("ED25519", "ED25519"),
  ]

  @Test(arguments: algorithms) func `the pin of every kind of file is the pin that openssl computes`(
    _ algorithm: String, _ name: String
  ) throws {
    try makeFiles(algorithm)
    let hash = try shell("openssl pkey -in key.pem -pubout -outform DER | openssl dgst -sha256 -binary | base64")
    let pin = try Pin(parsing: "sha256/" + hash.filter { $0 != "\n" })
    for form in ["pem", "der"] {
      guard case .publicKey(let key) = try read("public.\(form)"),
        case .request(let subject, let requested) = try read("request.\(form)"),
        case .certificates(let certificates) = try read("certificate.\(form)")
      else { throw TestFailure("another kind of file") }
      #expect(key.pin == pin && key.key == name)
      #expect(requested == key && subject == "CN=upstream")
      #expect(certificates.map(\.pin) == [pin] && certificates.map(\.key) == [name])
    }
  }

  @Test func `every form of a private key is refused, also after a certificate`() throws {
    try makeFiles("EC -pkeyopt ec_paramgen_curve:P-256")
    try shell(
      """
      openssl ecparam -name prime256v1 -genkey -out parameters.pem
      openssl ec -in key.pem -out sec1.pem
      openssl ec -in key.pem -outform DER -out sec1.der
      openssl pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out pkcs8.der
      openssl pkcs8 -topk8 -in key.pem -passout pass:x -out encrypted.pem
      openssl pkcs8 -topk8 -in key.pem -passout pass:x -outform DER -out encrypted.der
      openssl genrsa -traditional -out rsa.pem 2048 || openssl genrsa -out rsa.pem 2048
      openssl rsa -in rsa.pem -outform DER -out rsa.der
      cat certificate.pem key.pem >both.pem
      """)
    for name in [
      "key.pem", "sec1.pem", "sec1.der", "pkcs8.der", "encrypted.pem", "encrypted.der", "rsa.pem", "rsa.der",
      "both.pem",
      "parameters.pem",
    ] {
      #expect(try read(name) == .privateKey, "\(name)")
    }
  }

  @Test func `a certificate request with a wrong signature is refused`() throws {
    try makeFiles("ED25519")
    var bytes = Array(contents("request.der"))
    bytes[bytes.count - 1] ^= 1
    try scratch.write("damaged.der", bytes)
    #expect(try problem("damaged.der")?.contains("signature") == true)
  }

  @Test func `damaged files, several blocks and other kinds of files are refused`() throws {
    try makeFiles("EC -pkeyopt ec_paramgen_curve:P-256")
    try shell(
      """
      cat public.pem certificate.pem >several.pem
      openssl genpkey -algorithm X25519 | openssl pkey -pubout -out x25519.pem
      openssl pkey -pubin -in x25519.pem -outform DER -out x25519.der
      openssl genrsa 2048 | openssl rsa -RSAPublicKey_out -out pkcs1.pem
      """)
    for name in ["public", "request", "certificate"] {
      try scratch.write("cut-\(name).pem", contents("\(name).pem").dropLast(60))
      try scratch.write("cut-\(name).der", contents("\(name).der").dropLast(1))
      try scratch.write("long-\(name).der", contents("\(name).der") + [0])
    }
    try scratch.write("empty.pem", "")
    try scratch.write("text.pem", "hello\n")
    try scratch.write("zero.der", "0")
    for name in [
      "several.pem", "x25519.pem", "x25519.der", "pkcs1.pem", "cut-public.pem", "cut-request.pem",
      "cut-certificate.pem",
      "cut-public.der", "cut-request.der", "cut-certificate.der", "long-public.der", "long-request.der",
      "long-certificate.der", "empty.pem", "text.pem", "zero.der",
    ] {
      #expect(try problem(name)?.hasPrefix("\(name): ") == true, "\(name)")
    }
  }

  @Test func `a public key may have text and line ends of Windows around it`() throws {
    try makeFiles("ED25519")
    let text = String(decoding: contents("public.pem"), as: UTF8.self)
    try scratch.write("windows.pem", "Key:\r\n" + text.replacing("\n", with: "\r\n"))
    #expect(try read("windows.pem") == (try read("public.pem")))
  }
}
