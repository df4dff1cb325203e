internal import ArgumentParser
internal import System

/// `bearerctl demo`
struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "See it work: a TLS upstream, the real bearerd in front of it, and requests.",
    usage: "bearerctl demo [--oauth] [--once] [--port NUMBER]",
    discussion: """
      Makes a certificate authority, an upstream with its keys, and a token, all of them new and thrown away at the \
      end; starts bearerd with a configuration that it prints; and shows what a program sends, what the upstream \
      receives, and what does not get through. Nothing is installed, and nothing outside this machine is asked.

        bearerctl demo             shows, then serves for your own curl until Ctrl-C
        bearerctl demo --once      shows, and ends
        bearerctl demo --oauth     shows a login, and how the tokens that it brings are renewed

      Exits with 1 if anything was not as promised: if a key that is not pinned received a single byte, say.
      """)

  @Flag(help: "End after showing.")
  var once = false

  @Option(help: ArgumentHelp("The port of bearerd on localhost; 0: a free one.", valueName: "number"))
  var port: UInt16 = 0

  @Flag(name: .customLong("oauth"), help: "Show a login, and how its tokens are renewed, instead.")
  var showsLogin = false

  func run() throws {
    var isServing = false
    do {
      let signals = try SignalDescriptor(Interruption.signals)
      let failures = try showsLogin ? showLogin(signals, &isServing) : showInjection(signals, &isServing)
      if !failures.isEmpty { throw Failure(Failure.no) }
    } catch let interruption as Interruption {
      if !isServing { throw Failure(128 + interruption.signal) }
      StandardOutput.print("\nEnded; everything that it made is gone.\n")
    } catch let error as SystemError {
      throw Failure(Failure.system, error.description)
    }
  }

  private func showInjection(_ signals: consuming SignalDescriptor, _ isServing: inout Bool) throws -> [String] {
    let stage = try DemoStage(port: port)
    defer { stage.end() }
    let report = DemoReport(stage, terminal: .output)
    report.showConfiguration()
    let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
    report.showStart(port: daemon.port)
    let show = DemoShow(stage: stage, port: daemon.port, report: report)
    let failures = try show.run(between: { try daemon.checkInterruption() })
    report.conclude(failures, port: daemon.port, goesOn: !once)
    if !once {
      isServing = true
      stage.announcesRequests = true
      try daemon.serve { report.refused($0) }
    }
    return failures
  }

  private func showLogin(_ signals: consuming SignalDescriptor, _ isServing: inout Bool) throws -> [String] {
    let stage = try OAuthDemoStage(port: port)
    defer { stage.end() }
    let report = OAuthDemoReport(stage: stage, terminal: .output)
    report.showConfiguration()
    let daemon = try DemoDaemon(configuration: stage.configurationFile, signals: signals)
    let show = OAuthDemoShow(stage: stage, port: daemon.port, report: report)
    let failures = try show.run(between: { try daemon.checkInterruption() })
    report.conclude(failures, port: daemon.port, goesOn: !once)
    if !once {
      isServing = true
      try daemon.serve { _ in }
    }
    return failures
  }
}
