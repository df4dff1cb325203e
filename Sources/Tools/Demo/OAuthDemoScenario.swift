internal import Console
internal import TestServer
internal import Glibc
internal import System

struct OAuthDemoScenario {
  let stage: OAuthDemoStage
  let port: UInt16
  let report: OAuthDemoReport

  /// Maximum time for the login and for the renewal, in seconds.
  private static let timeout: UInt64 = 60

  /// Runs all steps, and returns descriptions of the checks that failed.
  /// - Parameter between: Called after each step, to throw if a signal has arrived.
  func run(between: () throws -> Void) throws -> [String] {
    var failures = try checkBeforeLogin()
    try between()
    failures += try logIn()
    try between()
    failures += try checkInjection()
    try between()
    failures += try checkRenewal(between: between)
    return failures
  }

  private func checkBeforeLogin() throws -> [String] {
    let response = try send()
    report.showBefore(response, requests: stage.requestCount, connections: stage.api.records.count)
    var failures: [String] = []
    if response.code != "login-required" { failures.append("a request was sent before the login") }
    if stage.requestCount > 0 || !stage.api.records.isEmpty {
      failures.append("a server was contacted before the login")
    }
    return failures
  }

  private func logIn() throws -> [String] {
    report.beginLogin()
    let view = LoginView("mail", opensBrowser: false, terminal: report.terminal)
    let response = try ControlClient(path: stage.control).send(
      "login mail", seconds: OAuthDemoScenario.timeout, onProgress: { view.receive($0) })
    view.endWaiting()
    var status = stat()
    let isPrivate = stat(stage.store, &status) == 0 && status.st_mode & 0o777 == 0o600
    switch response {
    case .ok(let text):
      report.endLogin(text, isPrivate: isPrivate)
      return isPrivate ? [] : ["other users can read the file with the login"]
    case .error(let reason): return ["the login failed: \(reason)"]
    }
  }

  private func checkInjection() throws -> [String] {
    let response = try send()
    let token = stage.server.grants.last?.token ?? ""
    report.showRequest(request, received: received(with: token), response)
    var failures: [String] = []
    if response.status != 200 { failures.append("the API did not accept the request") }
    if request.contains(token) || response.text.contains(token) { failures.append("the program saw the token") }
    return failures
  }

  /// Sends requests until bearerd uses a renewed token, and checks that no request fails.
  private func checkRenewal(between: () throws -> Void) throws -> [String] {
    report.beginRenewal(seconds: OAuthDemoStage.lifetime)
    let first = stage.server.grants.last?.token ?? ""
    let start = Clock.monotonicMicroseconds
    var (count, refused) = (0, 0)
    while Clock.monotonicMicroseconds < start + OAuthDemoScenario.timeout * 1_000_000 {
      let response = try send()
      count += 1
      if response.status != 200 { refused += 1 }
      if let next = stage.server.grants.last(where: { $0.token != first }), !received(with: next.token).isEmpty {
        report.showRenewal(requests: count, refused: refused, first: first, next: next)
        return refused == 0 ? [] : ["\(counted(refused, "request")) failed while the token was renewed"]
      }
      try between()
      usleep(200_000)
    }
    return ["the token was not renewed"]
  }

  private func received(with token: String) -> String {
    let texts = stage.api.records.map { String(decoding: $0.bytes, as: UTF8.self) }
    guard !token.isEmpty, let text = texts.last(where: { $0.contains("Bearer \(token)\r\n") }) else { return "" }
    // Only the last of several requests on the same connection
    return text.split(separator: "GET ").last.map { "GET " + $0 } ?? text
  }

  private var request: String {
    "GET /mail/messages HTTP/1.1\r\nHost: localhost:\(port)\r\nUser-Agent: some-program/1.0\r\nConnection: close\r\n\r\n"
  }

  private func send() throws -> Reply { try Reply(to: request, port: port, seconds: 30) }
}
