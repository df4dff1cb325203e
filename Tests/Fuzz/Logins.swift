@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import Foundation
import OAuth
import Policy
import Settings

/// Reads the input as the whole response of a login URL or a token endpoint.
func fuzzLoginResponse(_ bytes: [UInt8]) {
  let whole = ReadResponse(bytes, [bytes.count])
  for ends in waysToCut(bytes) {
    promise(ReadResponse(bytes, ends) == whole, "the answer depends on the cuts at \(ends)")
  }
  guard let intake = whole.intake else { return }
  checkCookie(intake, bytes)
  checkToken(intake, bytes)
}

/// Used by one thread only.
nonisolated(unsafe) private let arena = SecretArena()

/// The result of reading a response in pieces.
private struct ReadResponse: Equatable {
  private(set) var intake: TokenResponseReceiver?
  private var problem: String?
  private var head: String?
  private var body: [UInt8] = []
  private var cookies: [[UInt8]] = []

  init(_ bytes: [UInt8], _ ends: [Int]) {
    guard let intake = try? TokenResponseReceiver(mustLock: false) else { fatalError("memory") }
    var step = TokenResponseReceiver.Step.needsMore
    var start = 0
    for end in ends where step == .needsMore {
      step = intake.receive(bytes[start..<end].span)
      start = end
    }
    if step == .needsMore { step = intake.inputEnded(isClean: true) }
    switch step {
    case .needsMore: problem = "more"
    case .malformed(let sentence): problem = sentence
    case .complete:
      self.intake = intake
      intake.withResponse { head, body in
        self.head = "\(head)"
        for index in body.indices { self.body.append(body[index]) }
      }
      cookies = Self.cookies(of: intake)
      let isElsewhere = lines(bytes).contains { !$0.lowercased().hasPrefix("set-cookie") && $0.contains("QZQZ") }
      promise(isElsewhere || head?.contains("QZQZ") != true, "a cookie in the head")
    }
    promise(isPlain(problem ?? ""), "a sentence that a terminal obeys")
  }

  static func cookies(of intake: TokenResponseReceiver) -> [[UInt8]] {
    intake.cookies.withBytes { bytes in
      intake.cookies.ranges.map { range in range.map { bytes[$0] } }
    }
  }

  static func == (one: ReadResponse, other: ReadResponse) -> Bool {
    one.problem == other.problem && one.head == other.head && one.body == other.body && one.cookies == other.cookies
  }
}

private func source(_ encoding: LoginForm.Encoding, _ prize: LoginForm.ExtractedValue, expiresIn: [String]?)
  -> TokenSource
{
  guard let endpoint = try? Endpoint(parsing: "https://login.test/session") else { fatalError("an endpoint") }
  var form = LoginForm(encoding: encoding, fields: [LoginForm.Field("p", .secret(.env("P")))], extractedValue: prize)
  form.expiresIn = expiresIn
  return TokenSource(
    credential: "c", endpoint: endpoint, grant: .form(form), client: TokenClient(id: "", authentication: .none))
}

private func checkCookie(_ intake: TokenResponseReceiver, _ bytes: [UInt8]) {
  switch TokenResponse.read(intake, of: source(.form, .cookie("S"), expiresIn: nil), now: 0, in: arena) {
  case .granted(let grant):
    let value = octets(grant.accessToken)
    let isSendable = value.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3B && $0 != 0x2C && $0 != 0x5C }
    promise(!value.isEmpty && isSendable, "a cookie that breaks its field: \(shown(value))")
    promise(grant.lifetime.map { $0 >= 1_000 && $0 <= 315_360_000_000 } ?? true, "a lifetime of \(grant.lifetime ?? 0)")
    // A simple search finds the value in a Set-Cookie line.
    let isThere = lines(bytes).contains { line in
      line.lowercased().hasPrefix("set-cookie:") && line.contains("=\(String(decoding: value, as: UTF8.self))")
        || line.contains("= ") || line.contains("=\t")
    }
    promise(isThere, "a cookie out of nowhere: \(shown(value))")
  case .refused(let refusal): check(refusal, bytes)
  }
}

private func checkToken(_ intake: TokenResponseReceiver, _ bytes: [UInt8]) {
  let source = source(.json, .token(["d", "t"]), expiresIn: ["e"])
  switch TokenResponse.read(intake, of: source, now: 0, in: arena) {
  case .granted(let grant):
    let token = octets(grant.accessToken)
    promise(
      !token.isEmpty && token.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a token that breaks a field: \(shown(token))")
    promise(grant.lifetime.map { $0 >= 1_000 } ?? false, "a session without the end that it needs")
    let body: [UInt8] = intake.withResponse { _, body in body.indices.map { body[$0] } }
    let other = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
    if let other {
      let text = (other["d"] as? [String: Any])?["t"] as? String
      promise(text == String(decoding: token, as: UTF8.self), "another token for others")
    }
  case .refused(let refusal): check(refusal, bytes)
  }
}

private func check(_ refusal: TokenRefusal, _ bytes: [UInt8]) {
  promise(isPlain(refusal.sentence), "a sentence that a terminal obeys: \(refusal.sentence.debugDescription)")
  promise(!refusal.sentence.contains("QZQZ"), "a sentence repeats the server's words: \(refusal.sentence)")
  promise(refusal.kind != .final || String(decoding: bytes, as: UTF8.self).contains(" 401"), "lost by another status")
}

private func lines(_ bytes: [UInt8]) -> [String] {
  String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
}

private func octets(_ secret: borrowing Secret) -> [UInt8] { secret.withBytes { Array($0) } }

private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
