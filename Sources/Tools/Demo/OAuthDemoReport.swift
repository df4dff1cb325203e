internal import Console
internal import TestServer

/// The output of the login demo, at most 80 columns wide.
struct OAuthDemoReport {
  let stage: OAuthDemoStage
  let terminal: Terminal

  func showConfiguration() {
    say(
      terminal.introduction(
        "Programs use an account, but none of them has its token",
        setup: "a new authorization server, an API that accepts each token for \(OAuthDemoStage.lifetime) seconds",
        directory: stage.directory.path, configuration: stage.configuration))
    say("bearerd runs with this configuration.\n\n\n")
  }

  func showBefore(_ response: Reply, requests: Int, connections: Int) {
    say(
      """
      \(terminal.bold("1  Before the login, no request is sent"))

         GET /mail/messages
         The response: \(terminal.outcome(response, wanted: 503))
         Requests to the authorization server: \(requests), connections to the API: \(connections)


      """)
  }

  func beginLogin() {
    say(
      """
      \(terminal.bold("2  You log in once")) (bearerctl login mail)


      """)
  }

  func endLogin(_ text: String, isPrivate: Bool) {
    say(
      """
      \(wrapped(text.split(separator: "\n").first.map { String($0).harmless } ?? "", width: 77))
      (In this demo, the server itself enters the code.)
      The login is stored in mail.login, mode \(isPrivate ? terminal.good("0600") : terminal.bad("open to others")).


      """)
  }

  func showRequest(_ sent: String, received: String, _ response: Reply) {
    let outcome = terminal.outcome(response, wanted: 200)
    let lines = received.split(separator: "\r\n").map { line in
      line.hasPrefix("Authorization:") ? terminal.bold(String(line).harmless) : String(line).harmless
    }
    say(
      """
      \(terminal.bold("3  The program sends no credential; the API receives the token"))

         sent       \(sent.split(separator: "\r\n").first.map { String($0) } ?? "")
         received   \(lines.first ?? "nothing")
      \(lines.dropFirst().map { "              \($0)\n" }.joined())   The response: \(outcome), "\(response.body)"


      """)
  }

  func beginRenewal(seconds: Int) {
    say(
      """
      \(terminal.bold("4  After \(seconds) seconds the token expires, and the program does not notice"))


      """)
  }

  func showRenewal(requests: Int, refused: Int, first: String, next: AuthorizationServer.Grant) {
    say(
      """
         before     Authorization: Bearer \(first)
         now        \(terminal.bold("Authorization: Bearer \(next.token)")), by \(next.kind)
         Requests of the program: \(requests), refused: \(refused == 0 ? terminal.good("0") : terminal.bad("\(refused)"))
         The refresh token was also replaced. The new one is in mail.login.


      """)
  }

  func conclude(_ failures: [String], port: UInt16, keepsServing: Bool) {
    say(terminal.verdict(failures) + "\n\n")
    let next = "configure your own account, with grant device_code or authorization_code"
    guard keepsServing else {
      return say(
        "Next: \(next).\nbearerd.yaml(5) describes the keys. config/examples/login.yaml has two accounts.\n")
    }
    say(
      """
      bearerd still listens at http://localhost:\(port). Try it in another terminal:

          \(terminal.bold("curl -i http://localhost:\(port)/mail/messages"))
          \(InstalledDaemon.directory)/bearerctl status \\
            --control \(stage.control)
          \(InstalledDaemon.directory)/bearerctl login mail \\
            --control \(stage.control)
          \(InstalledDaemon.directory)/bearerctl logout mail \\
            --control \(stage.control)

      Next: \(next).
      bearerd.yaml(5) describes the keys.
      Ctrl-C ends the demo.

      """)
  }
}
