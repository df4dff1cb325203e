internal import ArgumentParser
internal import Console
internal import OAuth
internal import System

struct Discover: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the OAuth configuration for an authorization server.",
    usage: "bearerctl discover ISSUER [--grant GRANT] [--client-auth METHOD] [--ca-file FILE]",
    discussion: """
      Fetches the metadata that the server publishes (RFC 8414, OpenID Connect Discovery), and prints the "oauth2:" lines \
      for a credential. Nothing is changed, and bearerd never fetches metadata itself.

        bearerctl discover https://login.example.com
        bearerctl discover https://login.example.com/tenant --grant client_credentials

      The issuer in the metadata must be exactly the issuer that you name. The certificate of the server is verified, and \
      redirects are not followed.

      Look at the URLs before you use the lines: bearerd sends your client secret and your tokens there.

      Exits with 1 if the server publishes no usable metadata or cannot be verified, with 68 if the host is not found, and \
      with 69 if the server cannot be reached.
      """)

  @Argument(help: "The issuer: the https URL that identifies the authorization server.")
  var issuer: String

  @Option(help: "The value of grant. Default: the first grant that the server offers and bearerd supports.")
  var grant: GrantChoice?

  @Option(help: "The value of client_auth. Default: the first method that the server accepts and bearerd supports.")
  var clientAuth: ClientAuthChoice?

  @Option(
    help: "A PEM file with certificate authorities to use instead of those of the system, like ca_file.",
    completion: .file())
  var caFile: String?

  func run() throws {
    let (metadata, location) = try Discovery(issuer, authorities: caFile).metadata()
    var lines = try OAuth2Lines(metadata, grant: grant, clientAuth: clientAuth)
    lines.caFile = caFile.map(absolute)
    var text = "# From \(location)\n\(lines.text)"
    if metadata.endpoints[.registration] != nil {
      text += "# The server lets programs register themselves: bearerctl register ISSUER\n"
    }
    StandardOutput.print(text)
  }
}
