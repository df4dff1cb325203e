internal import ArgumentParser
internal import Configuration
internal import Console
internal import OAuth
internal import Policy
internal import Primitives
internal import Secrets
internal import Settings
internal import System

struct Register: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Register bearerd as a client of an authorization server.",
    usage: """
      bearerctl register ISSUER [--name NAME] [--grant GRANT] [--client-auth METHOD]
                                [--scope SCOPE ...] [--initial-token FILE|-]
                                [--ca-file FILE] [--config FILE]
      """,
    discussion: """
      Fetches the metadata of the server as "bearerctl discover" does, registers a client (RFC 7591), and prints the \
      "oauth2:" lines for a credential.

        bearerctl register https://login.example.com --name mail
        bearerctl register https://login.example.com --name mail --scope mail.read --initial-token token.txt

      The client secret is stored in secrets/NAME.client, and the token to change the registration in \
      secrets/NAME.registration, next to the configuration. Only the owner of a file can read it, and for the system's \
      configuration also bearerd. Existing files are never changed. No secret is printed.

      Some servers accept registrations only with an initial access token, which you get from the server's operator.

      Exits with 1 if the server refuses the registration or cannot be verified, with 68 if the host is not found, and \
      with 69 if the server cannot be reached.
      """)

  @Argument(help: "The issuer: the https URL that identifies the authorization server.")
  var issuer: String

  @Option(help: "The name of the credential, for the names of the files. Default: the host of the issuer.")
  var name: String?

  @Option(help: "authorization_code, device_code or client_credentials. Default: the first that the server offers.")
  var grant: GrantChoice?

  @Option(help: "basic, post or none. Default: the first that the server accepts.")
  var clientAuth: ClientAuthChoice?

  @Option(parsing: .singleValue, help: "A scope that the client may request. You can repeat this option.")
  var scope: [String] = []

  @Option(help: "A file with the initial access token, or - for standard input.", completion: .file())
  var initialToken: String?

  @Option(
    help: "A PEM file with certificate authorities to use instead of those of the system, like ca_file.",
    completion: .file())
  var caFile: String?

  @Option(config: "The configuration next to which the secrets are stored.")
  var config: String?

  private static let grants: [GrantChoice] = [.authorizationCode, .deviceCode, .clientCredentials]
  private static let methods: [ClientAuthChoice] = [.basic, .post, .none]

  func run() throws {
    try checkOptions()
    let discovery = try Discovery(issuer, authorities: caFile)
    let name = name ?? discovery.host
    guard ListenerSettings.isClientName(name) else {
      throw Failure(
        Failure.usage,
        "\(name.harmless) is not a name: use --name with at most 64 letters, digits, \"_\", \"-\" and \".\", and begin with a letter or digit"
      )
    }
    let metadata = try discovery.metadata().metadata
    guard let endpoint = metadata.endpoints[.registration] else {
      throw Failure(
        Failure.no,
        "\(metadata.issuer) does not let programs register themselves: its metadata has no registration_endpoint that is an https URL. Register bearerd at the server by hand, and run: bearerctl discover \(ShellWord.quoted(issuer))"
      )
    }
    var lines = try OAuth2Lines(metadata, grant: grant, clientAuth: try method(metadata), allowed: Self.grants)
    (lines.scope, lines.caFile) = (scope, caFile.map(absolute))
    let body = ClientMetadata(lines).json
    let arena = SecretArena()
    let token = try initialToken.map { path throws(Failure) in try Self.token(path) }
    let files = try RegisteredFiles(ConfigurationHome(config), name: name)
    do {
      let receiver: TokenResponseReceiver
      switch token {
      case .some(let token):
        receiver = try send(TokenRequest.registration(at: endpoint, body, token: token, in: arena), discovery)
      case .none: receiver = try send(TokenRequest.registration(at: endpoint, body, in: arena), discovery)
      }
      try Self.checkAcceptance(receiver, by: endpoint, hasToken: initialToken != nil)
      try finish(receiver, lines, files, arena)
    } catch {
      files.removeEmptyDirectories()
      if let problem = error as? SecretProblem { throw Failure(Failure.usage, problem.sentence) }
      throw error
    }
  }

  private static func token(_ path: String) throws(Failure) -> IncomingSecret {
    do throws(IncomingSecret.Problem) {
      return try IncomingSecret(readingFrom: path == "-" ? nil : absolute(path))
    } catch {
      throw Questions.failure(error, of: "initial access token")
    }
  }

  private func method(_ metadata: ServerMetadata) throws(Failure) -> ClientAuthChoice? {
    if let clientAuth { return clientAuth }
    // For any of these grants, the first method that bearerd can register.
    let accepted = ClientAuthChoice.accepted(by: metadata, for: grant ?? .authorizationCode)
    if let method = accepted.first(where: Self.methods.contains) { return method }
    throw Failure(
      Failure.no,
      "\(metadata.issuer) accepts none of the methods basic, post and none. To try one of them anyway, add --client-auth"
    )
  }

  private func send(_ request: borrowing TokenRequest, _ discovery: Discovery) throws -> TokenResponseReceiver {
    do { return try discovery.response(to: request) } catch let failure as Failure {
      // The connection may have failed before or after the server read the request.
      throw Failure(
        failure.code,
        "\(failure.message)\nIf the server received the request, it has a client that you can delete there")
    }
  }

  /// Throws `Failure` if the server refused the registration.
  private static func checkAcceptance(
    _ receiver: TokenResponseReceiver, by endpoint: Endpoint, hasToken: Bool
  ) throws(Failure) {
    let (status, code) = receiver.withResponse { head, body in
      (head.status, (200..<300).contains(head.status) ? nil : RegisteredClient.errorCode(body))
    }
    guard !(200..<300).contains(status) else { return }
    let hint =
      switch status {
      case 401, 403:
        hasToken
          ? ". Check the initial access token"
          : ". The server may need an initial access token: ask its operator, and add --initial-token FILE"
      case 300..<400: ". bearerctl does not follow redirects"
      default: ""
      }
    throw Failure(
      Failure.no, "\(endpoint) refused the registration: status \(status)\(code.map { " (\($0))" } ?? "")\(hint)")
  }

  /// Stores the secrets and prints the lines.
  private func finish(
    _ receiver: TokenResponseReceiver, _ lines: OAuth2Lines, _ files: RegisteredFiles, _ arena: SecretArena
  ) throws {
    let response = receiver.withResponse { _, body -> RegisteredClient? in try? RegisteredClient(body, in: arena) }
    guard let client = response else {
      throw Failure(
        Failure.no, "the server registered a client, but its response has no usable client_id. \(files.keep(receiver))")
    }
    do throws(SystemError) { try files.store(client) } catch {
      throw Failure(
        Failure.system,
        "the server registered the client \(client.id), but its secrets cannot be stored: \(error). \(files.keep(receiver))"
      )
    }
    var lines = lines
    lines.clientID = client.id
    lines.secretFile = client.has(.client) ? files.path(of: .client) : nil
    if let method = client.authentication.flatMap(ClientAuthChoice.init(method:)) { lines.clientAuth = method }
    StandardOutput.print(lines.text + remarks(client, lines, files))
  }

  /// Returns comments about the registration.
  private func remarks(_ client: borrowing RegisteredClient, _ lines: OAuth2Lines, _ files: RegisteredFiles) -> String {
    var text = ""
    if lines.clientAuth.needsSecret, !client.has(.client) {
      text += "# The server gave no client secret. Try --client-auth none.\n"
    }
    if let expiry = client.secretExpiry {
      text += "# The client secret expires on \(CivilTime.day(of: expiry)). Register again before that day.\n"
    }
    if client.has(.registrationToken) {
      text += "# The token to change or delete the registration is in \(files.path(of: .registrationToken).harmless).\n"
    }
    if let url = client.managementURL { text += "# The registration is at \(url)\n" }
    return text
  }

  private func checkOptions() throws(Failure) {
    if let grant, !Self.grants.contains(grant) {
      throw Failure(Failure.usage, "--grant must be authorization_code, device_code or client_credentials")
    }
    if let clientAuth, !Self.methods.contains(clientAuth) {
      throw Failure(Failure.usage, "--client-auth must be basic, post or none")
    }
    for scope in scope where !scope.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) {
      throw Failure(Failure.usage, "--scope \(scope.harmless): a scope is printable ASCII without spaces, \" and \\")
    }
  }
}
