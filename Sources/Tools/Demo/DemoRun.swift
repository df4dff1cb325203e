internal import Console
internal import System

/// Runs a demo of bearerd, including its cleanup.
package struct DemoRun {
  private let port: UInt16
  private let keepsServing: Bool

  /// - Parameters:
  ///   - port: The port of bearerd on localhost; 0 for a free port.
  ///   - keepsServing: Whether bearerd continues to run after the demo, until Ctrl-C.
  package init(port: UInt16, keepsServing: Bool) {
    self.port = port
    self.keepsServing = keepsServing
  }

  /// Shows how bearerd adds a credential, and which requests it refuses.
  package func showInjection() throws {
    try run { signals, isServing in
      let stage = try DemoStage(port: port)
      defer { stage.end() }
      let report = DemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
      report.showStart(port: daemon.port)
      let scenario = DemoScenario(stage: stage, port: daemon.port, report: report)
      let failures = try scenario.run(between: daemon.checkInterruption)
      report.conclude(failures, port: daemon.port, keepsServing: keepsServing)
      if keepsServing {
        isServing = true
        stage.announcer.isOn = true
        try daemon.serve(onRefusal: report.showRefusal)
      }
      return failures
    }
  }

  /// Shows a login, and how bearerd renews its tokens.
  package func showLogin() throws {
    try run { signals, isServing in
      let stage = try OAuthDemoStage(port: port)
      defer { stage.end() }
      let report = OAuthDemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
      let scenario = OAuthDemoScenario(stage: stage, port: daemon.port, report: report)
      let failures = try scenario.run(between: daemon.checkInterruption)
      report.conclude(failures, port: daemon.port, keepsServing: keepsServing)
      if keepsServing {
        isServing = true
        try daemon.serve { _ in }
      }
      return failures
    }
  }

  private func run(_ show: (SignalDescriptor, _ isServing: inout Bool) throws -> [String]) throws {
    var isServing = false
    do {
      let failures = try show(SignalDescriptor(Interruption.signals), &isServing)
      if !failures.isEmpty { throw Failure(Failure.no) }
    } catch let interruption as Interruption {
      if !isServing { throw Failure(128 + interruption.signal) }
      StandardOutput.print("\nThe demo has ended and deleted everything that it created.\n")
    } catch let error as SystemError {
      throw Failure(Failure.system, error.description)
    }
  }
}
