@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import Foundation
import OAuth
import Policy
import Settings

/// Reads the input as the body of a token endpoint's response, and as the browser's request at the end of a login.
func fuzzToken(_ bytes: [UInt8]) {
  for status in [200, 400, 503] { checkTokenResponse(bytes, status) }
  checkForm(bytes)
  checkDevice(bytes)
  checkCallback(bytes)
}

/// Used by one thread only.
nonisolated(unsafe) private let arena = SecretArena()

private func source() -> TokenSource {
  guard let endpoint = try? Endpoint(parsing: "https://login.test/token") else { fatalError("an endpoint") }
  var source = TokenSource(
    credential: "c", endpoint: endpoint, grant: .refreshToken(first: nil),
    client: TokenClient(id: "id", authentication: .none))
  source.deviceAuthorization = endpoint
  source.authorization = endpoint
  source.issuer = "https://login.test"
  return source
}

private func checkTokenResponse(_ bytes: [UInt8], _ status: Int) {
  let head = TokenResponseHead(status: status, contentType: "application/json")
  let other = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
  switch TokenResponse.read(head, bytes.span, of: source(), to: .token, now: 0, in: arena) {
  case .granted(let grant):
    promise(status == 200, "a token with status \(status)")
    let token = octets(grant.accessToken)
    promise(
      !token.isEmpty && token.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a token that breaks a field: \(shown(token))")
    // An `expires_in` of 0 means that the token has expired, not that its lifetime is unknown.
    let isLifetime = grant.lifetime.map { $0 == 0 || $0 >= 1000 && $0 <= 315_360_000_000 } ?? true
    promise(isLifetime, "a lifetime of \(grant.lifetime ?? 0)")
    let isBlank = (other?["expires_in"] as? String)?.allSatisfy { $0 == " " || $0 == "\t" } ?? false
    if let value = other?["expires_in"], !(value is NSNull), !isBlank {
      promise(grant.lifetime != nil, "for ever, against \(value)")
    }
    promise(isPlain(grant.remark ?? ""), "a remark that a terminal obeys")
    // Foundation's JSON parser finds the same values.
    if let other {
      promise(other["access_token"] as? String == String(decoding: token, as: UTF8.self), "another token for others")
      let isEmpty = (other["error"] as? String)?.allSatisfy { $0 == " " || $0 == "\t" } ?? false
      promise(other["error"] == nil || other["error"] is NSNull || isEmpty, "a token beside an error")
      switch grant.refreshToken {
      case .some(let token):
        let text = String(decoding: octets(token), as: UTF8.self)
        promise(other["refresh_token"] as? String == text, "another refresh token for others")
      case .none: break
      }
    }
  case .refused(let refusal):
    promise(isPlain(refusal.sentence), "a sentence that a terminal obeys: \(refusal.sentence.debugDescription)")
    promise(!repeats(bytes, in: refusal), "a sentence repeats the server's words: \(refusal.sentence)")
    if refusal.kind == .final, let other {
      let isSaid = other["error"] is String || other["error_code"] is String
      promise(status == 400 || status == 200, "a login is lost by status \(status)")
      promise(isSaid && refusal.code != nil, "a login is lost, and nobody said so")
    }
  }
}

private func checkForm(_ bytes: [UInt8]) {
  let head = TokenResponseHead(status: 200, contentType: "application/x-www-form-urlencoded")
  switch TokenResponse.read(head, bytes.span, of: source(), to: .token, now: 0, in: arena) {
  case .granted(let grant):
    let token = octets(grant.accessToken)
    promise(
      !token.isEmpty && token.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a token that breaks a field: \(shown(token))")
  case .refused(let refusal):
    promise(isPlain(refusal.sentence), "a sentence that a terminal obeys: \(refusal.sentence.debugDescription)")
    promise(!repeats(bytes, in: refusal), "a sentence repeats the server's words: \(refusal.sentence)")
  }
}

private func checkDevice(_ bytes: [UInt8]) {
  let head = TokenResponseHead(status: 200, contentType: "application/json")
  guard let begun = try? DeviceAuthorization.read(head, bytes.span, of: source(), now: 0, in: arena) else { return }
  for text in [begun.userCode, begun.verificationURI, begun.verificationURIComplete ?? "https://"] {
    promise(isPlain(text), "a person sees what a terminal obeys: \(text.debugDescription)")
  }
  promise(begun.verificationURI.hasPrefix("https://"), "a person is sent to \(begun.verificationURI)")
}

private func checkCallback(_ bytes: [UInt8]) {
  let random = [UInt8](repeating: 0, count: 64)
  guard
    var login = try? BrowserLogin(source(), redirectURI: "http://127.0.0.1:1/", random: random.span, in: arena),
    var same = try? BrowserLogin(source(), redirectURI: "http://127.0.0.1:1/", random: random.span, in: arena)
  else { fatalError("a login") }
  let state = String(repeating: "A", count: 43)
  if case .code = login.evaluate(bytes.span, in: arena) {
    promise(mayContain(state, in: bytes), "a code without the state")
  }
  // The input follows the right state, issuer and code.
  let target = Array("/?state=\(state)&iss=https://login.test&code=c&".utf8) + bytes
  switch same.evaluate(target.span, in: arena) {
  case .code(let code):
    promise(octets(code) == [0x63], "another code: \(shown(octets(code)))")
    for name in ["access_token=", "state=", "iss=", "code=", "error="] {
      let isThere = bytes.split(separator: 0x26).contains { $0.starts(with: name.utf8) }
      promise(!isThere, "\(name) twice, or beside a code")
    }
  case .refused: break
  case .unrelated: break
  }
}

/// Whether the text may be in the bytes, plain or with escapes.
private func mayContain(_ text: String, in bytes: [UInt8]) -> Bool {
  String(decoding: bytes, as: UTF8.self).contains(text) || bytes.contains(UInt8(ascii: "%"))
}

private func octets(_ secret: borrowing Secret) -> [UInt8] { secret.withBytes { Array($0) } }

private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

/// Whether the message repeats the marker that the input contains.
private func repeats(_ bytes: [UInt8], in refusal: TokenRefusal) -> Bool {
  let sentence = Array(refusal.sentence.utf8)
  guard let marker = bytes.firstRange(of: Array("QZQZ".utf8)) else { return false }
  return sentence.firstRange(of: Array(bytes[marker])) != nil
}
