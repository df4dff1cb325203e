import Foundation
import StatusModel
import Testing

@Suite struct LogoutResultTests {
  private func check(_ result: LogoutResult, _ expected: String) throws {
    #expect(String(decoding: result.json, as: UTF8.self) == expected)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try decoder.decode(LogoutResult.self, from: Data(result.json)) == result)
  }

  private var cut: LogoutResult.Cut {
    var cut = LogoutResult.Cut()
    (cut.waiting, cut.underWay, cut.answers, cut.upgraded) = (1, 2, 3, 4)
    (cut.idle, cut.resumable, cut.cookies) = (5, 6, 7)
    return cut
  }

  private let cutText =
    #""cut":{"waiting":1,"under_way":2,"answers":3,"upgraded":4,"idle":5,"resumable":6,"cookies":7}"#

  @Test func `a logout without tokens has no members about tokens`() throws {
    var result = LogoutResult()
    (result.credential, result.kind, result.sources, result.cut) = ("a", "bearer", ["file f"], cut)
    result.reloadOnly = true
    try check(
      result,
      #"{"credential":"a","kind":"bearer","sources":["file f"],\#(cutText),"login":false,"reload_only":true}"#)
  }

  @Test func `a logout with tokens reports the revocation of each`() throws {
    var result = LogoutResult()
    (result.credential, result.cut, result.login) = ("a", cut, true)
    (result.store, result.hadTokens, result.problem, result.revocation) = ("s", true, "p", "https://r.example/")
    result.revoked = [.init(token: "refresh_token", problem: nil), .init(token: "access_token", problem: "x")]
    try check(
      result,
      #"{"credential":"a","kind":"","sources":[],\#(cutText),"login":true,"reload_only":false,"#
        + #""store":"s","had_tokens":true,"problem":"p","revocation":"https://r.example/","#
        + #""revoked":[{"token":"refresh_token","problem":null},{"token":"access_token","problem":"x"}]}"#)
    (result.store, result.problem, result.revocation) = (.some(nil), .some(nil), .some(nil))
    #expect(
      String(decoding: result.json, as: UTF8.self).contains(
        #""store":null,"had_tokens":true,"problem":null,"revocation":null,"revoked":["#))
  }

  @Test func `the counts of all workers are added up`() {
    var sum = cut
    sum.add(cut)
    #expect(sum.waiting == 2 && sum.underWay == 4 && sum.answers == 6 && sum.upgraded == 8)
    #expect(sum.idle == 10 && sum.resumable == 12 && sum.cookies == 14)
  }
}
