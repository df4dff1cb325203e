internal import Console
internal import System

/// All of a demo, from what it makes to what it leaves: nothing.
package struct DemoRun {
  private let port: UInt16
  private let goesOn: Bool

  /// - Parameters:
  ///   - port: of bearerd on localhost; 0: a free one.
  ///   - goesOn: serves after showing, until it is interrupted.
  package init(port: UInt16, goesOn: Bool) {
    self.port = port
    self.goesOn = goesOn
  }

  /// How a credential is added, and what does not get through.
  package func showInjection() throws {
    try run { signals, isServing in
      let stage = try DemoStage(port: port)
      defer { stage.end() }
      let report = DemoReport(stage, terminal: .output)
      report.showConfiguration()
      let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
      report.showStart(port: daemon.port)
      let show = DemoShow(stage: stage, port: daemon.port, report: report)
      let failures = try show.run(between: { try daemon.checkInterruption() })
      report.conclude(failures, port: daemon.port, goesOn: goesOn)
      if goesOn {
        isServing = true
        stage.announcesRequests = true
        try daemon.serve { report.refused($0) }
      }
      return failures
    }
  }

  /// A login, and how its tokens are renewed.
  package func showLogin() throws {
    try run { signals, isServing in
      let stage = try OAuthDemoStage(port: port)
      defer { stage.end() }
      let report = OAuthDemoReport(stage: stage, terminal: .output)
      report.showConfiguration()
      let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
      let show = OAuthDemoShow(stage: stage, port: daemon.port, report: report)
      let failures = try show.run(between: { try daemon.checkInterruption() })
      report.conclude(failures, port: daemon.port, goesOn: goesOn)
      if goesOn {
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
