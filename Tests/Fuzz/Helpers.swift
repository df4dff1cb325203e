@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import Foundation
import HelperOutput
import Policy
import Settings

/// Reads the output of a program in each format.
func fuzzHelper(_ bytes: [UInt8]) {
  let description = GitDescription(host: "git.test", path: "team", user: nil, acceptsToken: false)
  let tokens = GitDescription(host: "git.test", path: nil, user: nil, acceptsToken: true)
  for format in [
    .text, .execCredential, .dockerCredential(server: "registry.test"), .gitCredential(description, stores: false),
    .gitCredential(tokens, stores: false),
  ] as [CommandFormat] {
    check(bytes, format)
  }
}

/// Used by one thread only.
nonisolated(unsafe) private let arena = SecretArena()

private let now: Int64 = 1_800_000_000

private func check(_ bytes: [UInt8], _ format: CommandFormat) {
  let command = SecretCommand(words: ["/bin/helper", "ARGUMENT"], format: format, timeToLive: nil, timeout: 1)
  bytes.withUnsafeBytes { input in
    do throws(SecretProblem) {
      let output = try HelperOutputReader(command: command, arena: arena, now: now).read(input)
      var secret: [UInt8] = []
      var user: [UInt8]?
      output.withPart(isUser: false) { secret = Array($0) }
      if output.userCount != nil { output.withPart(isUser: true) { user = Array($0) } }
      promise(!secret.isEmpty, "a secret that is none")
      promise(output.expiry.map { $0 > now } ?? true, "a value that has expired")
      switch format {
      case .text: promise(bytes.starts(with: secret), "another text")
      case .execCredential: checkJSON(bytes, ["status", "token"], secret)
      case .dockerCredential: checkJSON(bytes, ["Secret"], secret)
      case .gitCredential: checkGit(bytes, secret, user: user)
      }
    } catch {
      let isPlain = error.sentence.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      promise(isPlain, "a sentence that a terminal obeys: \(error.sentence.debugDescription)")
      promise(!error.sentence.contains("QZQZ"), "a sentence repeats the program's words: \(error.sentence)")
    }
  }
}

/// Checks that Foundation's JSON parser finds the same secret.
private func checkJSON(_ bytes: [UInt8], _ path: [String], _ secret: [UInt8]) {
  guard var object = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] else { return }
  for name in path.dropLast() {
    guard let next = object[name] as? [String: Any] else { return promise(false, "a secret out of nowhere") }
    object = next
  }
  let text = path.last.flatMap { object[$0] as? String }
  promise(text.map { Array($0.utf8) } == secret, "another secret for others")
}

/// Checks the output as git reads it: lines up to an empty line, each with a key before the first `=`.
private func checkGit(_ bytes: [UInt8], _ secret: [UInt8], user: [UInt8]?) {
  var values: [String: [[UInt8]]] = [:]
  for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
    if line.isEmpty { break }
    let key = line.prefix { $0 != UInt8(ascii: "=") }
    values[String(decoding: key, as: UTF8.self), default: []].append(Array(line.dropFirst(key.count + 1)))
  }
  let isToken = values["credential"] != nil
  promise(values[isToken ? "credential" : "password"] == [secret], "another secret for git")
  if let user, !isToken { promise(values["username"] == [user], "another user for git") }
  for (key, expected) in [("protocol", "https"), ("host", "git.test")] {
    promise(values[key].map { $0 == [Array(expected.utf8)] } ?? true, "an answer for another \(key)")
  }
}
