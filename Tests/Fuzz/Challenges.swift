@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import HTTP1
import Policy

/// Parses each line of the input as the value of a `WWW-Authenticate` field, and checks the response to the challenge.
func fuzzChallenge(_ bytes: [UInt8]) {
  var head = ResponseHead()
  head.status = 401
  for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
    let start = head.bytes.count
    head.bytes += Array("WWW-Authenticate:".utf8) + line
    head.fields.append(
      Field(name: start..<(start + 16), value: (start + 17)..<head.bytes.count, known: .wwwAuthenticate))
  }
  for field in head.fields { checkRanges(Challenge.read(field.value, of: head.bytes.span), within: field.value) }
  for scheme in [ChallengedScheme.basic, .bearer] { checkAwaited(scheme, head) }
  guard let challenge = DigestChallenge.strongest(in: head, of: Set(DigestHash.allCases)) else { return }
  for value in [challenge.realm, challenge.nonce, challenge.opaque ?? []] {
    promise(value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control byte is kept: \(shown(value))")
    promise(value.count <= 1_024, "\(value.count) bytes are kept")
  }
  for hashes in DigestHash.allCases.map({ Set([$0]) }) {
    if let found = DigestChallenge.strongest(in: head, of: hashes) {
      promise(hashes.contains(found.hash), "a hash that may not be used")
      promise(found.hash <= challenge.hash, "a stronger one was passed over")
    }
  }
  checkLine(of: challenge)
}

private func checkRanges(_ challenges: [Challenge]?, within value: Range<Int>) {
  for challenge in challenges ?? [] {
    let ranges = [challenge.scheme] + challenge.parameters.map(\.name) + [challenge.token68].compactMap(\.self)
    for range in ranges {
      promise(range.lowerBound >= value.lowerBound && range.upperBound <= value.upperBound, "outside of its field")
    }
  }
}

/// Checks that a scheme counts as requested only if a readable challenge names it outside of quotation marks.
private func checkAwaited(_ scheme: ChallengedScheme, _ head: ResponseHead) {
  guard scheme.isRequested(by: head) else { return }
  let name = scheme.rawValue.lowercased()
  let isNamed = head.fields.contains { field in
    let text = String(decoding: head.bytes[field.value], as: UTF8.self).lowercased()
    let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
    return text.contains("\\") || parts.enumerated().contains { $0 % 2 == 0 && $1.contains(name) }
  }
  promise(isNamed, "shown to who did not ask for \(scheme.rawValue)")
  let isReadable = head.fields.allSatisfy { Challenge.read($0.value, of: head.bytes.span) != nil }
  promise(isReadable, "shown to who cannot be understood")
}

/// Used by one thread only.
nonisolated(unsafe) private let arena = SecretArena()

/// Checks that the response to the challenge is one field line with the server's values.
private func checkLine(of challenge: DigestChallenge) {
  guard let line = try? response(to: challenge) else { fatalError("memory") }
  promise(line.suffix(2) == [0x0D, 0x0A], "a line without end")
  promise(line.dropLast(2).allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a second line: \(shown(line))")
  let name = Array("Authorization: ".utf8).count
  guard let read = Challenge.read(name..<(line.count - 2), of: line.span), read.count == 1 else {
    return promise(false, "nobody can read \(shown(line))")
  }
  for (name, value) in [("realm", challenge.realm), ("nonce", challenge.nonce), ("username", Array("u\"".utf8))] {
    if name == "username", challenge.hashesUserName { continue }
    promise(read[0].value(of: name, in: line.span) == value, "another \(name): \(shown(line))")
  }
  promise(read[0].value(of: "opaque", in: line.span) == challenge.opaque, "another opaque: \(shown(line))")
}

private func response(to challenge: DigestChallenge) throws -> [UInt8] {
  var pair = try Secret(capacity: 16, in: arena)
  try pair.append("u\":p")
  let number = Array("c".utf8)
  let key = try DigestResponse.key(of: pair, for: challenge, clientNonce: number, in: arena)
  var line = try Secret(capacity: 16, in: arena)
  try Array("GET".utf8).withUnsafeBytes { method in
    try Array("/\"x".utf8).withUnsafeBytes { target in
      let response = DigestResponse(
        challenge: challenge, method: method, target: target, count: .max, clientNonce: number, in: arena)
      try response.append(key: key, pair: pair, to: &line)
    }
  }
  return line.withBytes { Array($0) }
}
