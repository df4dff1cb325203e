internal import Console
internal import Policy
internal import Settings

/// Attacks that web pages can run against a port of localhost.
enum BrowserAttacks {
  static let all: [Attack] = [
    Attack(1, "DNS rebinding", rebinding), Attack(2, "requests from web pages", pages),
    Attack(3, "WebSockets from web pages") { _, tally in tally.outcome("\(tally.refused) upgrades refused") },
  ]

  private static func rebinding(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.targets where target.port != nil {
      try stage.expectSuccess(
        target.request(host: target.authority.uppercased()), to: target, "Host in capitals", &tally)
    }
    return tally.outcome(
      "\(counted(tally.refused, "name")) refused; its own name in capitals accepted",
      ifUntried: "no TCP listener, and web pages cannot open Unix sockets")
  }

  private static func pages(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    // With these fields, as public APIs send them, a page could also read the response.
    let fields = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\n"
    try stage.servers.script.responding({ UpstreamScript.ok($0, fields: fields) }) {
      for target in stage.targets {
        // Browsers send no Sec-Fetch-Site over plain HTTP to a host other than loopback.
        for name in stage.strangeNames(of: target) {
          let image = target.request("User-Agent: Mozilla/5.0 (selftest)", "Accept-Language: en", host: name)
          try stage.expectRefusal(image, to: target, "a browser request with the name \(name)", [403], &tally)
        }
        // Node's fetch sends these fields, like a browser.
        let node = target.request("Sec-Fetch-Mode: cors", "Accept-Language: *")
        guard let response = try stage.expectSuccess(node, to: target, "Node's fetch", &tally)?.reply else { continue }
        let allowed = response.head.lowercased().contains("access-control-")
        tally.check(
          !allowed, "\(target.name): Access-Control-* of the upstream", seen: "passed on", expected: "removed")
      }
    }
    return tally.outcome("\(counted(tally.refused, "request")) from web pages refused; Node's fetch accepted")
  }
}

extension SelftestStage {
  /// Returns the names in the `hosts` key of the target's listener that are not loopback names.
  fileprivate func strangeNames(of target: Target) -> [String] {
    settings.listeners[target.service.listener].extraAuthorities.filter { authority in
      guard target.port != nil, let colon = authority.lastIndex(of: ":") else { return false }
      return (try? HostName(parsing: String(authority[..<colon])))?.isLocal == false
    }
  }
}
