internal import Configuration
internal import Console
internal import Policy
package import Settings
internal import Loading
internal import System
internal import TestServer

/// Runs all attacks of the self-test against a bearerd with a test copy of the user's configuration.
package struct SelftestRun {
  private let settings: DaemonSettings
  private let file: String
  private let service: String?
  private let isJSON: Bool

  /// - Parameter service: Name of the service to attack; `nil` for all services.
  package init(_ settings: DaemonSettings, file: String, only service: String?, isJSON: Bool) {
    self.settings = settings
    self.file = file
    self.service = service
    self.isJSON = isJSON
  }

  package func run() throws {
    let tree = try tree()
    if let service, !settings.rules.services.contains(where: { $0.name == service }) {
      let names = settings.rules.services.map(\.name).joined(separator: ", ")
      throw Failure(Failure.usage, "there is no service \(service.harmless). The services are \(names)")
    }
    do {
      let stage = try SelftestStage(settings, tree, only: service, signals: SignalDescriptor(Interruption.signals))
      defer { stage.end() }
      guard !stage.targets.isEmpty else {
        throw Failure(Failure.usage, "nothing to attack: no request gets through to \(service ?? "any service")")
      }
      for target in stage.targets { try stage.ensureResponding(target) }
      let report = SelftestReport(isJSON: isJSON, terminal: .output)
      report.begin(stage, file: file)
      var results: [(attack: Attack, outcome: Outcome)] = []
      for (index, section) in AttackSet.sections.enumerated() {
        report.begin(section, isFirst: index == 0)
        for attack in section.attacks { results.append((attack, try report.run(attack, on: stage))) }
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

  private func tree() throws -> ConfigurationTree {
    do throws(SystemError) {
      if let tree = try ConfigurationLoader.tree(of: file) { return tree }
      throw SystemError(operation: "read \(file)", errno: 0)
    } catch {
      throw Failure(Failure.usage, "\(file) cannot be read: \(error)")
    }
  }
}
