internal import Console
internal import TestServer
internal import Glibc
internal import System

/// A login and what follows from it, as a program and a person see it.
struct OAuthDemoShow {
  let stage: OAuthDemoStage
  let port: UInt16
  let report: OAuthDemoReport

  /// Seconds: many times what a token is good for.
  private static let patience: UInt64 = 60

  /// - Returns: what was not as promised.
  func run(between: () throws -> Void) throws -> [String] {
    var failures = try before()
    try between()
    failures += try login()
    try between()
    failures += try injection()
    try between()
    failures += try renewal(between: between)
    return failures
  }

  private func before() throws -> [String] {
    let answer = try send()
    report.showBefore(answer, asked: stage.asked, reached: stage.api.records.count)
    var failures: [String] = []
    if answer.code != "login-required" { failures.append("a request was sent before the login") }
    if stage.asked > 0 || !stage.api.records.isEmpty {
      failures.append("a server was contacted before the login")
    }
    return failures
  }

  private func login() throws -> [String] {
    report.beginLogin()
    let view = LoginView("mail", opensBrowser: false, terminal: report.terminal)
    let answer = try ControlClient(path: stage.control).ask(
      "login mail", seconds: OAuthDemoShow.patience, onProgress: { view.hear($0) })
    view.endWaiting()
    var status = stat()
    let isPrivate = stat(stage.store, &status) == 0 && status.st_mode & 0o777 == 0o600
    switch answer {
    case .ok(let text):
      report.endLogin(text, isPrivate: isPrivate)
      return isPrivate ? [] : ["other users can read the file with the login"]
    case .error(let reason): return ["the login failed: \(reason)"]
    }
  }

  private func injection() throws -> [String] {
    let answer = try send()
    let token = stage.server.grants.last?.token ?? ""
    report.showRequest(request, received: received(with: token), answer)
    var failures: [String] = []
    if answer.status != 200 { failures.append("the API did not accept the request") }
    if request.contains(token) || answer.text.contains(token) { failures.append("the program saw the token") }
    return failures
  }

  /// Asks once in a while, as a program does, until the token has been replaced.
  private func renewal(between: () throws -> Void) throws -> [String] {
    report.beginRenewal(seconds: OAuthDemoStage.lifetime)
    let first = stage.server.grants.last?.token ?? ""
    let start = Clock.monotonicMicroseconds
    var (count, refused) = (0, 0)
    while Clock.monotonicMicroseconds < start + OAuthDemoShow.patience * 1_000_000 {
      let answer = try send()
      count += 1
      if answer.status != 200 { refused += 1 }
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
    // The last one of several on the same connection
    return text.split(separator: "GET ").last.map { "GET " + $0 } ?? text
  }

  private var request: String {
    "GET /mail/messages HTTP/1.1\r\nHost: localhost:\(port)\r\nUser-Agent: some-program/1.0\r\nConnection: close\r\n\r\n"
  }

  private func send() throws -> DemoAnswer {
    do throws(SocketError) {
      let socket = try BlockingSocket(host: "127.0.0.1", port: port, seconds: 30)
      try socket.send(Array(request.utf8))
      return DemoAnswer(try socket.receiveAll(maximum: 1 << 20))
    } catch {
      throw Failure(Failure.no, "bearerd does not respond: \(error.message)")
    }
  }
}
