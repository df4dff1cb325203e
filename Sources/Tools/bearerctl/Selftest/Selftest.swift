internal import ArgumentParser
internal import Configuration
internal import Setup
internal import TestServer
internal import Policy
internal import System

/// `bearerctl selftest`
struct Selftest: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Would attacks get through, with my configuration on this machine?",
    usage: "bearerctl selftest [SERVICE] [--config FILE] [--json]",
    discussion: """
      Starts the installed bearerd under a throw-away configuration that has the shape of yours: your rules, header \
      policies and limits, but upstreams, keys, secrets, addresses and users that are made for this run. Then it plays \
      the attacks of docs/security/threats.md against it, and says of each what came of it. Your secrets are not opened, your daemon is not \
      touched, and nothing leaves this machine.

        bearerctl selftest
        bearerctl selftest github
        sudo bearerctl selftest --config ~/.config/bearerd/bearerd.yaml    (other users, too)

      Root may take the file of another user: it is judged as that user's own daemon would.
      Exits with 0 if nothing got through, with 1 if something did, with 2 if the configuration cannot be used, and \
      with 71 if bearerd stops answering.
      """)

  @Argument(help: "The service to attack. (default: all)")
  var service: String?

  @Option(name: .shortAndLong, help: "The configuration.", completion: .file(extensions: ["yaml"]))
  var config: String?

  @Flag(help: "One JSON document instead of lines.")
  var json = false

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    let tree = try tree(of: loaded.file)
    if let service, !loaded.settings.rules.services.contains(where: { $0.name == service }) {
      let names = loaded.settings.rules.services.map(\.name).joined(separator: ", ")
      throw Failure(Failure.usage, "there is no service \(service.harmless); there is \(names)")
    }
    do {
      let stage = try SelftestStage(
        loaded.settings, tree, only: service, signals: SignalDescriptor(Interruption.signals))
      defer { stage.end() }
      guard !stage.targets.isEmpty else {
        throw Failure(Failure.usage, "nothing to attack: no request gets through to \(service ?? "any service")")
      }
      for target in stage.targets { try stage.demandAnswer(of: target) }
      let report = SelftestReport(isJSON: json, terminal: .output)
      report.begin(stage, file: loaded.file)
      var results: [(attack: Attack, outcome: Outcome)] = []
      for (index, section) in AttackSet.sections.enumerated() {
        report.begin(section, isFirst: index == 0)
        for attack in section.attacks { results.append((attack, try report.play(attack, on: stage))) }
      }
      report.conclude(results)
      if results.contains(where: \.outcome.isFailure) { throw Failure(Failure.no) }
    } catch let interruption as Interruption {
      throw Failure(128 + interruption.signal)
    } catch let error as SystemError {
      throw Failure(Failure.system, error.description)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  private func tree(of file: String) throws -> ConfigurationTree {
    do throws(SystemError) {
      let text = try FileReader.read(path: file, maximum: 1 << 20).bytes
      guard let tree = ConfigurationTree(reading: text) else {
        throw SystemError(operation: "read \(file)", errno: 0)
      }
      return tree
    } catch {
      throw Failure(Failure.usage, "\(file) cannot be read: \(error)")
    }
  }
}

extension Outcome {
  var isFailure: Bool {
    switch self {
    case .failed: true
    case .passed, .notApplicable, .skipped: false
    }
  }
}
