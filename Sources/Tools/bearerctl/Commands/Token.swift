internal import Console
internal import ArgumentParser
internal import Configuration
internal import Crypto
internal import Policy
internal import System

/// `bearerctl token`
struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a client token, for who has no uid of its own.",
    usage: "bearerctl token NAME [--hash]",
    discussion: """
      Containers, other machines and programs that share a user are told apart by tokens. This prints a new token, \
      once, to standard output, and the line for the configuration, which has only its hash, to standard error. \
      Nothing is kept.

        bearerctl token ci                            both, to read
        (umask 077; bearerctl token ci > ci.token)    the token into a file
        bearerctl token ci --hash < ci.token          the line once more

      The program sends the token where its API key would go; bearerd takes it out of the request.
      """)

  @Argument(help: "What the client is called in the configuration and in the log.")
  var name: String

  @Flag(help: "Make none: read one from standard input, and print its line.")
  var hash = false

  func validate() throws {
    guard ListenerSettings.isClientName(name) else {
      throw ValidationError(
        "A name is letters, digits, \"_\", \"-\" and \".\", at most 64, and begins with a letter or digit.")
    }
  }

  func run() throws {
    if hash { return StandardOutput.print(try line(of: read()) + "\n") }
    var random = SystemRandomNumberGenerator()
    let token = ClientToken.text(
      random: (0..<ClientToken.randomBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    let line = try line(of: Array(token.utf8))
    StandardOutput.print(token + "\n")
    Terminal.complain(
      """

      This is the token of client "\(name)", and it is not shown again. The listener gets its hash:

          clients: { \(line) }


      """)
  }

  private func line(of token: [UInt8]) throws -> String {
    guard let digest = TokenDigest.of(token.span) else { throw Failure(Failure.system, "OpenSSL computes no SHA-256") }
    return "\(name): \(digest)"
  }

  private func read() throws -> [UInt8] {
    var bytes = Array((readLine(strippingNewline: true) ?? "").utf8)
    while let last = bytes.last, last == 0x0D || last == 0x20 { bytes.removeLast() }
    guard ClientToken.looksLikeOne(bytes.span) else {
      throw Failure(
        Failure.no,
        "what stands there is no client token: one begins with \(ClientToken.prefix) and has \(ClientToken.length) characters. bearerctl token \(name) makes one"
      )
    }
    return bytes
  }
}
