internal import Console
internal import Configuration
internal import Policy

/// What web pages can do with a port on localhost.
enum BrowserAttacks {
  static let all = [
    Attack(1, "DNS rebinding", rebinding), Attack(2, "requests of web pages", pages),
    Attack(3, "WebSockets of web pages", sockets),
  ]

  private static let evilOrigin = "Origin: https://evil.test"

  private static func rebinding(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      guard let port = target.port else { continue }
      let other = port == 1 ? 2 : port - 1
      for host in [
        "evil.test:\(port)", "localhost.evil.test:\(port)", "127.0.0.1.nip.io:\(port)", "localhost:\(other)",
        "0.0.0.0:\(port)", "evil.test", "localhost", "localhost@evil.test:\(port)", "localhost:\(port).evil.test", "",
      ] {
        try stage.refuse(
          target.request(host: host), to: target, host.isEmpty ? "an empty Host" : "Host: \(host)", [400, 421], &tally)
      }
      let request = target.request(host: "NONE").replacing("Host: NONE\r\n", with: "")
      try stage.refuse(request, to: target, "no Host", [400], &tally)
      try stage.refuse(target.request("Host: evil.test"), to: target, "two Hosts", [400], &tally)
      try stage.pass(target.request(host: target.authority.uppercased()), to: target, "Host in capitals", &tally)
    }
    guard tally.tried > 0 else { return .notApplicable("no TCP listener: no page can open a unix socket") }
    return tally.outcome("\(counted(tally.refused, "name")) refused; its own, in capitals, not")
  }

  private static func pages(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    // A public API may say this to everybody, and then the page reads the answer as well.
    let fields = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\n"
    try stage.script.answering({ UpstreamScript.ok($0, fields: fields) }) {
      for target in stage.targets {
        for field in [
          evilOrigin, "Origin: null", "Origin: http://localhost", "Sec-Fetch-Site: cross-site",
          "Sec-Fetch-Site: same-site", "\(evilOrigin)\r\nSec-Fetch-Site: none",
          "\(evilOrigin)\r\nContent-Type: text/plain", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
        ] {
          try stage.refuse(target.request(field), to: target, field.replacing("\r\n", with: ", "), [403], &tally)
        }
        let preflight = target.request(evilOrigin, "Access-Control-Request-Method: PUT", method: "OPTIONS")
        try stage.refuse(preflight, to: target, "a preflight", [403], &tally)
        // Browsers do not say to such names what sent them there.
        for name in stage.strangeNames(of: target) {
          let image = target.request("User-Agent: Mozilla/5.0 (selftest)", "Accept-Language: en", host: name)
          try stage.refuse(image, to: target, "a browser's, by the name \(name)", [403], &tally)
        }
        // Node's fetch says so, too.
        let node = target.request("Sec-Fetch-Mode: cors", "Accept-Language: *")
        guard let answer = try stage.pass(node, to: target, "Node's fetch", &tally)?.reply else { continue }
        let allowed = answer.head.lowercased().contains("access-control-")
        tally.check(!allowed, "\(target.name): Access-Control-* of the upstream", seen: "passed", expected: "removed")
      }
    }
    return tally.outcome("\(counted(tally.refused, "request")) of pages refused; Node's fetch not")
  }

  private static func sockets(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      for field in [evilOrigin, "Origin: null", "Sec-Fetch-Site: cross-site"] {
        let request = target.request(
          field, "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          connection: "Connection: Upgrade")
        try stage.refuse(request, to: target, "a WebSocket with \(field)", [403], &tally)
      }
    }
    return tally.outcome("\(tally.refused) upgrades refused")
  }
}

extension SelftestStage {
  /// What `hosts` adds that is not loopback.
  fileprivate func strangeNames(of target: Target) -> [String] {
    settings.listeners[target.service.listener].extraAuthorities.filter { authority in
      guard target.port != nil, let colon = authority.lastIndex(of: ":") else { return false }
      return (try? HostName(parsing: String(authority[..<colon])))?.isLocal == false
    }
  }
}
