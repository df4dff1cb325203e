import Credentials
import Secrets
import OAuth
import Policy
import Settings
import Testing

/// Remarks on unusual token responses.
@Suite struct GrantRemarkTests {
  private func remark(_ more: String, scope: [String] = [], date: String? = nil, now: Int64 = 0) throws -> String? {
    var source = try source()
    source.scope = scope
    let body = Array("{\"access_token\":\"a\",\"token_type\":\"bearer\"\(more)}".utf8)
    let head = TokenResponseHead(status: 200, contentType: "application/json", date: date)
    switch TokenResponse.read(head, body.span, of: source, to: .token, now: now, in: arena) {
    case .granted(let grant): return grant.remark
    case .refused(let refusal): return "refused: \(refusal.sentence)"
    }
  }

  @Test(
    arguments: [
      ("", ["mail.read"], nil), (#","scope":"mail.read""#, ["mail.read"], nil),
      (#","scope":"mail.send mail.read""#, ["mail.read", "mail.send"], nil),
      (#","scope":"anything""#, [], nil), (#","scope":["mail.read"]"#, ["mail.read"], nil),
      (
        #","scope":"mail.read""#, ["mail.read", "mail.send", "mail.move"],
        "less than the requested scope (without mail.send mail.move)"
      ),
      (#","scope":"MAIL.read mail.read""#, ["mail.read"], "more than the requested scope"),
      (
        #","scope":"admin\r\nX-Evil: 1""#, ["mail.read"],
        "less than the requested scope (without mail.read), more than the requested scope"
      ), (#","scope":"""#, ["mail.read"], "less than the requested scope (without mail.read)"),
    ] as [(String, [String], String?)])
  func `T38: the granted scope is compared with the requested scope`(
    _ more: String, _ scope: [String], _ odd: String?
  ) throws {
    let start = "the response of https://login.example.com/oauth2/token has "
    #expect(try remark(more, scope: scope) == odd.map { start + $0 })
  }

  /// 1994-11-06 08:49:37
  private static let (date, time) = ("Sun, 06 Nov 1994 08:49:37 GMT", Int64(784_111_777))

  @Test(
    arguments: [
      (0, nil), (59, nil), (-59, nil), (60, "a minute ahead of"), (-60, "a minute behind"),
      (3_600, "an hour ahead of"), (-90_000, "a day behind"),
    ] as [(Int64, String?)])
  func `T57: a clock difference of a minute or more is reported`(_ lead: Int64, _ words: String?) throws {
    let message = try remark("", date: Self.date, now: Self.time - lead)
    #expect(message?.contains("a date that is more than \(words ?? "?") the clock") == (words == nil ? nil : true))
    #expect(try remark("", date: "yesterday") == nil)
  }
}
