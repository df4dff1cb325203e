internal import Console
enum ReflectionAttack {
  /// Attack T33: an upstream repeats the credential in a successful response.
  @Sendable static func run(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    var hasBodies = false
    for target in stage.injecting {
      let mode = stage.setting("redact", of: target) ?? "errors"
      if mode == "off" { continue }
      hasBodies = hasBodies || mode == "all"
      for canary in stage.canaries where canary.credential == target.grant {
        for form in canary.encodings { try reflect(form, isInBody: mode == "all", target, stage, &tally) }
      }
    }
    return tally.outcome(
      "\(counted(tally.tried, "response")) masked: \(hasBodies ? "headers, bodies and trailers" : "headers and trailers")",
      ifUntried: stage.injecting.isEmpty ? "no credential is added" : "redact: off")
  }

  private static func reflect(
    _ form: Canary.Encoding, isInBody: Bool, _ target: Target, _ stage: SelftestStage,
    _ tally: inout AttackTally
  ) throws {
    let half = form.whole.utf8.count / 2
    let chunks = isInBody ? [String(form.whole.prefix(half)), String(form.whole.dropFirst(half))] : ["harmless"]
    let response = """
      HTTP/1.1 200 \(form.whole)\r
      X-Echo: \(form.whole)\r
      X-Mine: a=\(form.whole); b\r
      Link: <https://evil.test/?key=\(form.whole)>; rel=next\r
      Trailer: X-Trailer\r
      Transfer-Encoding: chunked\r
      \r
      \(chunked(chunks))X-Trailer: \(form.whole)\r
      \r

      """
    try expect(
      form, response, to: target.request("TE: trailers"), target, stage, &tally, "the secret \(form.name)", "masked")
  }

  /// Attack T64: an upstream repeats a rejected key in an error body.
  @Sendable static func runWithErrors(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.injecting where ["errors", "all"].contains(stage.setting("redact", of: target) ?? "errors") {
      for canary in stage.canaries(of: target) {
        for form in canary.encodings {
          try repeatKey(form, "", target, stage, &tally)
          // bearerd cannot decode this content coding.
          try repeatKey(form, "Content-Encoding: br\r\n", target, stage, &tally)
        }
      }
    }
    return tally.outcome(
      "\(counted(tally.tried, "error")) passed on without the key",
      ifUntried: stage.injecting.isEmpty ? "no credential is added" : "redact: headers or off")
  }

  private static func repeatKey(
    _ form: Canary.Encoding, _ fields: String, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally
  ) throws {
    let text = "{\"error\":\"Incorrect API key provided: \(form.whole)\"}"
    let half = text.utf8.count - form.whole.utf8.count / 2
    let chunks = [String(text.prefix(half)), String(text.dropFirst(half))]
    let response = "HTTP/1.1 400 Bad Request\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n\(chunked(chunks))\r\n"
    try expect(
      form, response, to: target.request("Accept-Encoding: gzip, br"), target, stage, &tally,
      "an error that repeats the secret \(form.name)", fields.isEmpty ? "masked" : "withheld")
  }

  private static func chunked(_ chunks: [String]) -> String {
    chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n"
  }

  /// Checks that the caller does not get the secret from this response to the request.
  private static func expect(
    _ form: Canary.Encoding, _ response: String, to request: String, _ target: Target, _ stage: SelftestStage,
    _ tally: inout AttackTally, _ tried: String, _ expected: String
  ) throws {
    let reply = try stage.servers.script.responding({ _ in Array(response.utf8) }) {
      try stage.send(request, to: target)
    }
    let text = reply.text + reply.unchunkedBody
    tally.check(
      reply.status != 0 && !text.contains(form.text), "\(target.name): \(tried)",
      seen: reply.status == 0 ? "no response" : "the caller got it", expected: expected)
  }
}
