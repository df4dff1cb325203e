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
    try run { signals in
      let stage = try DemoStage(port: self.port)
      defer { stage.end() }
      let report = DemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try StartedDaemon(configuration: stage.configurationFile, signals: signals)
      let port = try daemon.demoPort()
      report.showStart(port: port)
      let failures = try DemoScenario(stage: stage, port: port, report: report).run(between: daemon.drain)
      report.conclude(failures, port: port, keepsServing: keepsServing)
      if keepsServing {
        stage.announcer.isOn = true
        try daemon.serve(onRefusal: report.showRefusal)
      }
      return failures
    }
  }

  /// Shows how bearerd adds a credential to gRPC calls, and which calls it refuses.
  package func showGRPC() throws {
    try run { signals in
      let stage = try DemoStage(grpc: self.port)
      defer { stage.end() }
      let report = GRPCDemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try StartedDaemon(configuration: stage.configurationFile, signals: signals)
      let port = try daemon.demoPort()
      report.showStart(port: port)
      let client = GRPCDemoClient(port: port)
      let failures = try GRPCDemoScenario(stage: stage, client: client, report: report).run(between: daemon.drain)
      report.conclude(failures, port: port, keepsServing: keepsServing)
      if keepsServing {
        stage.announcer.isOn = true
        try daemon.serve(onRefusal: report.showRefusal)
      }
      return failures
    }
  }

  /// Shows a login, and how bearerd renews its tokens.
  package func showLogin() throws {
    try run { signals in
      let stage = try OAuthDemoStage(port: self.port)
      defer { stage.end() }
      let report = OAuthDemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try StartedDaemon(configuration: stage.configurationFile, signals: signals)
      let port = try daemon.demoPort()
      let failures = try OAuthDemoScenario(stage: stage, port: port, report: report).run(between: daemon.drain)
      report.conclude(failures, port: port, keepsServing: keepsServing)
      if keepsServing { try daemon.serve { _ in } }
      return failures
    }
  }

  private func run(_ show: (SignalDescriptor) throws -> [String]) throws {
    do {
      let failures = try show(SignalDescriptor(Interruption.signals))
      if keepsServing {
        StandardOutput.print("\nThe demo has ended and deleted everything that it created.\n")
      } else if !failures.isEmpty {
        throw Failure(Failure.no)
      }
    } catch let interruption as Interruption {
      throw Failure(128 + interruption.signal)
    } catch let error as SystemError {
      throw Failure(Failure.system, error.description)
    }
  }
}
