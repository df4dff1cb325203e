internal import Console
internal import ArgumentParser
internal import Configuration
internal import Crypto
internal import Policy
internal import Settings
internal import System

struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create a client token for a container or another caller without a user account.",
    usage: "bearerctl token NAME [--hash]",
    discussion: """
      Prints a new token on standard output, and the line for the configuration on standard error. The line has only the \
      hash of the token. bearerctl does not store the token, and shows it only once.

        bearerctl token ci                            print both
        (umask 077; bearerctl token ci > ci.token)    write the token to a file
        bearerctl token ci --hash < ci.token          print the line again

      With tokens, bearerd can distinguish containers, other machines, and programs of the same user. The program sends the \
      token in place of its API key, and bearerd removes the token from the request.
      """)

  @Argument(help: "The name of the client in the configuration and in the log.")
  var name: String

  @Flag(help: "Read a token from standard input and print its line. No token is created.")
  var hash = false

  func validate() throws {
    guard ListenerSettings.isClientName(name) else {
      throw ValidationError(
        "A name has at most 64 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit.")
    }
  }

  func run() throws {
    if hash { return StandardOutput.print(try line(of: read()) + "\n") }
    let token = ClientToken.text(
      random: (0..<ClientToken.randomBytes).map { _ in UInt8.random(in: .min ... .max) })
    let line = try line(of: Array(token.utf8))
    StandardOutput.print(token + "\n")
    Terminal.printError(
      """

      This is the token of client "\(name)". It is not shown again. Add its hash to the listener:

          clients: { \(line) }


      """)
  }

  private func line(of token: [UInt8]) throws -> String {
    guard let digest = TokenDigest.of(token.span) else {
      throw Failure(Failure.system, "OpenSSL cannot compute SHA-256")
    }
    return "\(name): \(digest)"
  }

  private func read() throws -> [UInt8] {
    var bytes = Array((readLine(strippingNewline: true) ?? "").utf8)
    while let last = bytes.last, last == 0x0D || last == 0x20 { bytes.removeLast() }
    guard ClientToken.isWellFormed(bytes.span) else {
      throw Failure(
        Failure.no,
        "standard input is not a client token, which begins with \(ClientToken.prefix) and has \(ClientToken.length) characters. \"bearerctl token \(name)\" creates one"
      )
    }
    return bytes
  }
}
