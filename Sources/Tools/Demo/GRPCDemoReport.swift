internal import Console
internal import TestServer

/// The output of the gRPC demo, at most 80 columns wide.
struct GRPCDemoReport {
  let stage: DemoStage
  let terminal: Terminal

  func showConfiguration() {
    say(
      terminal.introduction(
        "A gRPC program whose token only bearerd has",
        setup: "a new certificate authority, a gRPC server with TLS, a random token",
        directory: stage.directory.path, configuration: stage.configuration))
  }

  func showStart(port: UInt16) {
    say(
      """
      bearerd runs with this configuration. Only the target of a program changes:

          \(terminal.bold("grpc.insecure_channel(\"localhost:\(port)\")"))


      """)
  }

  func showInjection(sent: HTTP2Fields, received: HTTP2Fields, reply: GRPCReply, version: String) {
    let columns = terminal.columns(
      ["what the program sent"] + lines(sent), ["what the server received"] + lines(received),
      bold: "authorization:")
    say(
      """
      \(terminal.bold("1  The program sends no credential; the server receives one"))

      \(columns)
         The response: \(outcome(reply, wanted: 0)), "\(reply.text)"
         Before it sent a byte, bearerd verified chain, name and pin (\(version)).


      """)
  }

  func showRefusedPin(reply: GRPCReply, connections: Int, bytes: Int) {
    say(
      """
      \(terminal.bold("2  A server with another key receives nothing"))

         The server of demo.Impostor has a valid certificate for the same name, from
         the same authority. Only its key is different, and not pinned.

         The response: \(outcome(reply, wanted: 14))
         Connections that the impostor saw: \(connections)
         Bytes of the call that it received: \(bytes == 0 ? terminal.good("0") : terminal.bad("\(bytes)"))


      """)
  }

  func showRefusedRule(_ method: String, reply: GRPCReply) {
    say(
      """
      \(terminal.bold("3  A call that no rule allows is not sent"))

         \(method)
         The response: \(outcome(reply, wanted: 7))


      """)
  }

  func conclude(_ failures: [String], port: UInt16, keepsServing: Bool) {
    say(terminal.verdict(failures) + "\n\n")
    guard keepsServing else { return }
    say(
      """
      bearerd still listens at localhost:\(port). Try it in another terminal:

          \(terminal.bold("cd \(stage.directory.path)"))
          \(terminal.bold("grpcurl -plaintext -proto demo.proto -d '{\"text\": \"you\"}' \\"))
          \(terminal.bold("  localhost:\(port) demo.Greeter/SayHello"))

      Other methods: demo.Greeter/Delete and demo.Impostor/SayHello.
      Ctrl-C ends the demo.

      """)
  }

  /// Prints a short form of a refused call's log line.
  func showRefusal(_ line: String) {
    func value(_ name: String) -> String { line.loggedValue(name) ?? "?" }
    say("bearerd refused   \(value("path"))   \(value("refused"))\n")
  }

  private func outcome(_ reply: GRPCReply, wanted: Int) -> String {
    let text = reply.statusName + (reply.code.map { ", by bearerd: \($0)" } ?? "")
    return reply.status == wanted ? terminal.good(text) : terminal.bad(text)
  }

  private func lines(_ fields: HTTP2Fields) -> [String] { fields.map { "\($0.name): \($0.value)".harmless } }
}
