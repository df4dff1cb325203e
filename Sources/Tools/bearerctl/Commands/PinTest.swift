internal import ArgumentParser
internal import Console
internal import Policy
internal import Settings
internal import System

struct PinTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Check the certificates and pins of the services.",
    usage: "bearerctl pin test [SERVICE] [--config FILE]",
    discussion: """
      Makes a TLS handshake with the upstream of each service, and verifies it as the daemon would: certificate chain, \
      name, pins, with the service's "ca_file" and "protocol". No request is sent. Client certificates are not used.

        bearerctl pin test
        bearerctl pin test github --config bearerd.yaml

      Prints one line for each service: "ok", "mismatch" if no pin matches, "invalid" if the pins have expired or the \
      certificate is not valid, "unreachable" if there is no TLS connection, or "skipped" for an upstream without TLS. A \
      mismatch also counts with "pin_mode: report".

      Exits with 0 if all services are fine, with 1 if a certificate or the pins of a service fail, and with 69 if a \
      service is unreachable and no other service fails.
      """)

  @Argument(help: "The name of a service. Default: all services.")
  var service: String?

  @Option(config: "The configuration.")
  var config: String?

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    let services = try service.map { [try loaded.service(named: $0)] } ?? loaded.settings.rules.services
    if services.isEmpty { return StandardOutput.print("\(loaded.file) has no services\n") }
    let width = services.map(\.name.count).max() ?? 0
    var check = PinCheck(stores: loaded.stores)
    var worst = PinCheck.Outcome.skipped
    for service in services {
      let (outcome, detail) = try check.result(of: service)
      worst = max(worst, outcome)
      StandardOutput.print(
        "\(service.name.padded(to: width))  \(outcome.word(for: .output))  \(service.upstream.origin): \(detail.harmless)\n"
      )
    }
    switch worst {
    case .ok, .skipped: return
    case .unreachable: throw Failure(Failure.unavailable)
    case .mismatch, .invalid: throw Failure(Failure.no)
    }
  }
}
