internal import Console
internal import ArgumentParser
internal import Policy
internal import System
internal import TLS

struct PinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Print the pins of a server or a file, create a backup key, and test pins.",
    usage: """
      bearerctl pin HOST[:PORT]|SERVICE|FILE|- [--server-name NAME]
                                               [--ca-file FILE] [--config FILE]
      bearerctl pin new-backup FILE
      bearerctl pin test [SERVICE] [--config FILE]
      """,
    discussion: """
      A pin is the SHA-256 of a public key. A certificate that is renewed with the same key keeps its pin.

        bearerctl pin api.github.com            print the pins of a server
        bearerctl pin github                    print the pins of a service
        bearerctl pin /etc/ssl/upstream.pem     print the pins of a file
        bearerctl pin new-backup backup.key     create a backup key
        bearerctl pin test                      check the pins of all services

      "bearerctl pin TARGET" is short for "bearerctl pin show TARGET". A host with the name of a subcommand needs a port: \
      "bearerctl pin test:443". A service with such a name needs "show": "bearerctl pin show test".
      """,
    subcommands: [PinShow.self, PinNewBackup.self, PinTest.self], defaultSubcommand: PinShow.self)
}

struct PinShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print the pins of a server or of a file.",
    usage: """
      bearerctl pin [show] HOST[:PORT]|SERVICE|FILE|- [--server-name NAME]
                           [--ca-file FILE] [--config FILE]
      """,
    discussion: """
      Connects to the host, verifies the certificate chain and the name, and prints the pin of every certificate in the \
      chain, with a "pins:" line to copy. For a file, it prints the pins of the certificates, the public key or the \
      certificate request (CSR) in that file. Nothing is changed.

        bearerctl pin api.github.com
        bearerctl pin registry.example.com:8443 --ca-file company-ca.pem
        bearerctl pin localhost:8443 --server-name registry.example.com
        bearerctl pin github --config bearerd.yaml
        bearerctl pin /etc/ssl/upstream.pem
        openssl pkey -in backup.key -pubout | bearerctl pin -

      For the name of a service in the configuration, it connects to the service's upstream, and trusts the service's \
      "ca_file". A name with a dot or a port is a host, unless you add --config. With --ca-file, the target must be a host. The \
      name of an existing file is a file.

      Files are PEM or DER. - reads standard input. A file with a private key is refused.

      The output for a host is what your network shows you today: compare it with a second source before you rely on it.

      Exits with 1 and prints no pin if the chain or the name cannot be verified, or if the file cannot be used. For a host, \
      the error then lists the certificates that the server sent.
      """)

  @Argument(
    help: "A host with an optional port, a URL, a service, a PEM or DER file, or - for standard input.",
    completion: .file())
  var target: String

  @Option(
    help: "A PEM file with certificate authorities to use instead of those of the system, like ca_file.",
    completion: .file())
  var caFile: String?

  @Option(
    help: "The name in the server's certificate, if the server is reached by another host, like server_name.")
  var serverName: String?

  @Option(config: "The configuration with the service. The target must then be a service.")
  var config: String?

  func run() throws {
    switch try PinTarget(target, config: config, allowsService: caFile == nil && serverName == nil) {
    case .standardInput:
      try forbidHostOptions()
      try pin(file: try StandardInput.read(maximum: Self.maximumFileSize, of: "a file"), name: "standard input")
    case .file:
      guard FileStatus(path: target) != nil else {
        throw Failure(Failure.noInput, "no such file: \(target.harmless)")
      }
      try forbidHostOptions()
      try pin(file: try read(target), name: target.harmless)
    case .host(var upstream, let remark):
      if let serverName {
        do throws(PolicySyntaxError) { upstream.setServerName(try HostName(parsing: serverName)) } catch {
          throw Failure(Failure.usage, "--server-name: \(error.message)")
        }
      }
      do {
        try pin(
          upstream, title: "\(upstream.origin.host):\(upstream.origin.port)", authorities: caFile,
          advice: "add --ca-file FILE")
      } catch let failure as Failure where [Failure.noHost, Failure.unavailable].contains(failure.code) {
        throw Failure(failure.code, failure.message + (remark.map { "\n(\($0))" } ?? ""))
      }
    case .service(let service, let file):
      try pin(service, of: file)
    }
  }

  private func forbidHostOptions() throws(Failure) {
    for (option, value) in [("--ca-file", caFile), ("--server-name", serverName)] where value != nil {
      throw Failure(Failure.usage, "\(option) is only for hosts, because the certificates of a file are not verified")
    }
  }

  private func pin(_ service: Service, of file: String) throws {
    let origin = service.upstream.origin
    guard caFile == nil else {
      throw Failure(
        Failure.usage,
        "--ca-file is only for hosts. For a service, bearerctl uses the service's ca_file. For other authorities, name the host: bearerctl pin \(origin.host):\(origin.port) --ca-file FILE"
      )
    }
    guard serverName == nil else {
      throw Failure(Failure.usage, "--server-name is only for hosts. For a service, bearerctl uses its server_name")
    }
    guard origin.scheme == .https else {
      throw Failure(
        Failure.no,
        "service \(service.name) of \(file) sends its requests to \(origin), without TLS: there is no key to pin")
    }
    try pin(
      service.upstream, title: "service \(service.name) of \(file), \(origin.host):\(origin.port)",
      authorities: service.trust.caFile, advice: "set the service's ca_file")
  }

  // MARK: a host

  /// - Parameters:
  ///   - title: The host or service, for the output.
  ///   - authorities: A PEM file with certificate authorities; `nil` for the system's.
  ///   - advice: How to trust other authorities.
  private func pin(_ upstream: Upstream, title: String, authorities: String?, advice: String) throws {
    let origin = upstream.origin
    let chain: [CertificateDescription]
    var served: [CertificateDescription] = []
    do {
      chain = try VerifiedConnection.verify(upstream, store: store(authorities), served: &served).chain
    } catch let error as SocketError {
      throw Failure(error.kind == .noHost ? Failure.noHost : Failure.unavailable, error.message)
    } catch let error as TLSError {
      let hint =
        authorities == nil && error.kind == .certificateInvalid
        ? "\n(for a private certificate authority, \(advice))" : ""
      throw Failure(
        Failure.no,
        "\(origin.authority) could not be verified, so no pins are shown.\n\(error.detail)\(hint)"
          + PinReport.unverified(served))
    }
    let report = PinReport(terminal: .output, now: Clock.now.seconds)
    let verifiers = authorities.map { "the authorities in \($0.harmless)" } ?? "the system's authorities"
    StandardOutput.print(
      report.terminal.bold(title) + ": chain and name verified, by \(verifiers)\n\n"
        + report.list(chain) + report.line(for: chain))
  }

  private func store(_ authorities: String?) throws -> TrustStore {
    guard let authorities else { return try TrustStore.system() }
    let bytes = try read(authorities)
    do throws(TLSError) { return try TrustStore(pem: bytes, name: authorities) } catch {
      throw Failure(Failure.usage, error.detail)
    }
  }

  // MARK: a file

  /// Maximum size of a file, in bytes.
  private static let maximumFileSize = 4 << 20

  private func pin(file bytes: [UInt8], name: String) throws {
    let content: PinnableFile
    do throws(TLSError) { content = try PinnableFile(bytes, name: name) } catch {
      throw Failure(Failure.no, error.detail)
    }
    let report = PinReport(terminal: .output, now: Clock.now.seconds)
    let title = report.terminal.bold(name)
    switch content {
    case .certificates(let certificates):
      StandardOutput.print(
        title + ": \(counted(certificates.count, "certificate")), not verified\n\n" + report.list(certificates)
          + report.line(for: certificates))
    case .publicKey(let key): StandardOutput.print(title + ": public key\n\n" + report.key(key))
    case .request(let subject, let key):
      StandardOutput.print(
        title + ": certificate request (CSR), signed with its own key\n\n" + report.key(key, subject: subject))
    case .privateKey:
      let file = target == "-" ? "FILE" : name
      throw Failure(
        Failure.no,
        """
        \(name): there is a private key in it, which bearerctl does not read. A pin needs only the public key:

            openssl pkey -in \(file) -pubout | bearerctl pin -

        To create a backup key and print its pin: bearerctl pin new-backup NEWFILE
        """)
    }
  }

  private func read(_ path: String) throws -> [UInt8] {
    do throws(SystemError) { return try FileReader.read(path: path, maximum: Self.maximumFileSize).bytes } catch {
      throw Failure(Failure.noInput, "\(path.harmless): \(error)")
    }
  }
}
