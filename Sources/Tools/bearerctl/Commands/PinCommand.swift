internal import Console
internal import ArgumentParser
internal import Policy
internal import System
internal import TLS

struct PinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Print the pins of a server or of a certificate file.",
    usage: "bearerctl pin HOST[:PORT]|FILE [--server-name NAME] [--ca-file FILE]",
    discussion: """
      Connects to the host, verifies the certificate chain and the name, and prints the pin of every certificate in the \
      chain, with a "pins:" line to copy. For a file, it prints the pins of the certificates in that file. Nothing is \
      changed.

        bearerctl pin api.github.com
        bearerctl pin registry.example.com:8443 --ca-file company-ca.pem
        bearerctl pin localhost:8443 --server-name registry.example.com
        bearerctl pin /etc/ssl/upstream.pem

      A pin is the SHA-256 of a public key. A certificate that is renewed with the same key keeps its pin. The output is \
      what your network shows you today: compare it with a second source before you rely on it.

      Exits with 1 and prints no pin if the chain or the name cannot be verified.
      """)

  @Argument(help: "A host with an optional port, a URL, or a PEM or DER file.", completion: .file())
  var target: String

  @Option(
    help: "A PEM file with certificate authorities to use instead of those of the system, like ca_file.",
    completion: .file())
  var caFile: String?

  @Option(
    help: "The name in the server's certificate, if the server is reached by another host, like server_name.")
  var serverName: String?

  func run() throws {
    if let upstream = try hostUpstream() { try pin(upstream) } else { try pinFile() }
  }

  /// Returns the upstream that the arguments name; `nil` if the argument is a file.
  private func hostUpstream() throws -> Upstream? {
    let isURL = target.hasPrefix("https://")
    if !isURL, looksLikeFile || FileStatus(path: target)?.isRegular == true { return nil }
    var upstream: Upstream
    do throws(PolicySyntaxError) {
      let origin = isURL ? try Upstream(parsing: target).origin : try Origin(parsing: "https://\(target)")
      upstream = Upstream(origin, allowedAddresses: [])
    } catch {
      throw Failure(Failure.usage, "\(target.harmless) is neither a host nor a file that exists: \(error.message)")
    }
    guard let serverName else { return upstream }
    do throws(PolicySyntaxError) { upstream.setServerName(try HostName(parsing: serverName)) } catch {
      throw Failure(Failure.usage, "--server-name: \(error.message)")
    }
    return upstream
  }

  private var looksLikeFile: Bool {
    let name = target.lowercased()
    return name.contains("/") || [".pem", ".crt", ".cer", ".der"].contains { name.hasSuffix($0) }
  }

  private func pin(_ upstream: Upstream) throws {
    let origin = upstream.origin
    let chain: [CertificateDescription]
    do {
      chain = try VerifiedChain.of(upstream, store: store())
    } catch let error as SocketError {
      throw Failure(error.kind == .noHost ? Failure.noHost : Failure.unavailable, error.message)
    } catch let error as TLSError {
      let hint = caFile == nil ? "\n(for a private certificate authority, add --ca-file FILE)" : ""
      throw Failure(
        Failure.no, "\(origin.authority) could not be verified, so no pins are shown.\n\(error.detail)\(hint)")
    }
    let authorities = caFile.map { "the authorities in \($0.harmless)" } ?? "the system's authorities"
    show(chain, of: "\(origin.host):\(origin.port)", "chain and name verified, by \(authorities)")
  }

  private func store() throws -> TrustStore {
    guard let caFile else { return try TrustStore.system() }
    let bytes = try read(caFile)
    do throws(TLSError) { return try TrustStore(pem: bytes, name: caFile) } catch {
      throw Failure(Failure.usage, error.detail)
    }
  }

  private func pinFile() throws {
    guard FileStatus(path: target) != nil else {
      throw Failure(Failure.noInput, "no such file: \(target.harmless)")
    }
    for (option, value) in [("--ca-file", caFile), ("--server-name", serverName)] where value != nil {
      throw Failure(Failure.usage, "\(option) is only for hosts, because the certificates of a file are not verified")
    }
    let bytes = try read(target)
    let certificates: [CertificateDescription]
    do throws(TLSError) { certificates = try Certificates.describe(file: bytes) } catch {
      throw Failure(Failure.no, "\(target.harmless): \(error.detail)")
    }
    show(certificates, of: target.harmless, "\(counted(certificates.count, "certificate")), not verified")
  }

  private func show(_ certificates: [CertificateDescription], of owner: String, _ remark: String) {
    let report = PinReport(terminal: .output, now: Clock.now.seconds)
    StandardOutput.print(
      "\(report.terminal.bold(owner)): \(remark)\n\n" + report.list(certificates) + report.line(for: certificates))
  }

  private func read(_ path: String) throws -> [UInt8] {
    do throws(SystemError) { return try FileReader.read(path: path, maximum: 4 << 20).bytes } catch {
      throw Failure(Failure.noInput, "\(path.harmless): \(error)")
    }
  }
}
