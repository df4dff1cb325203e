import Credentials
import Secrets
import Glibc
import OAuth
import TLS
import TestSupport
import Testing

/// What a parser leaves behind.
@Suite struct WipedTests {
  /// `PNANEL-…`, so that these bytes are never ours in clear.
  private static let encoded = "PNANEL-sbyybj-gur-juvgr-enoovg"

  @Test(.enabled(if: !isSanitized)) func `a token is where it is kept, and nowhere else that the parser has been`()
    async
  {
    await #expect(processExitsWith: .success) {
      let source = try OAuthTests.source(.refreshToken(first: somewhere))
      // Taken whole, taken and then refused, and broken off within: each goes another way.
      let ways = [
        (#"{"token_type":"Bearer","access_token":""#, #""}"#, true),
        (#"{"token_type":"Bearer","access_token":""#, #"","access_token":"b"}"#, false),
        (#"{"token_type":"Bearer","access_token":"x\n"#, #""}"#, false),
        (#"{"token_type":"Bearer","access_token":""#, "", false), (#"{"token_type":"Bearer","#, #":1}"#, false),
        (#"{"token_type":"Bearer","access_token":1"#, #"}"#, false),
      ]
      // The first call of a C function saves all registers, in which a copy may be under way: not what this is about.
      for (start, end, _) in ways { _ = Body(start, "other", end).read(of: source) }
      for (start, end, isTaken) in ways {
        // Long, so that a block that is given back is not soon another's.
        let body = Body(start, String(repeating: WipedTests.encoded, count: 20), end)
        let answer = body.read(of: source)
        body.wipe()
        let found = occurrences(of: WipedTests.encoded)
        switch consume answer {
        case .granted(let grant):
          guard isTaken, found == 20, grant.accessToken.count == 20 * WipedTests.encoded.utf8.count else { exit(1) }
        case .refused:
          guard !isTaken, found == 0 else { exit(2) }
        }
        guard occurrences(of: WipedTests.encoded) == 0 else { exit(3) }
      }
    }
  }
}

extension WipedTests {
  @Test(.enabled(if: !isSanitized), arguments: [false, true])
  func `a private key leaves nothing behind, however it is written`(_ isPKCS8: Bool) async {
    await #expect(processExitsWith: .success) { [isPKCS8 = isPKCS8 as Bool] in
      // The beginning and the end of the number, every bit turned; the highest byte first, and last.
      let encoded: [[UInt8]] = [
        [0x71, 0x64, 0xEF, 0x61, 0x8E, 0x6F, 0x67, 0x40, 0x67, 0xFB, 0x78, 0x20],
        [0x20, 0x78, 0xFB, 0x67, 0x40, 0x67, 0x6F, 0x8E, 0x61, 0xEF, 0x64, 0x71],
      ]
      func found() -> Int { encoded.map { occurrences(of: $0) { ~$0 } }.reduce(0, +) }
      let pem = Array((isPKCS8 ? KnownKeys.ecPKCS8 : KnownKeys.ec).utf8)
      for _ in 0..<3 {
        let key = try pem.span.withUnsafeBytes { (pem) throws(SigningKey.Problem) in try SigningKey(pem: pem) }
        guard found() == 1 else { exit(1) }
        var count = 0
        let isSigned = pem.span.withUnsafeBytes { pem in key.withSignature(of: pem) { count = $0.count } }
        guard isSigned, count == 64, found() == 1 else { exit(2) }
        _ = consume key
        guard found() == 0 else { exit(3) }
      }
    }
  }
}

/// An answer that no array ever held.
private final class Body {
  private let bytes: UnsafeMutableBufferPointer<UInt8>

  init(_ start: String, _ encoded: String, _ end: String) {
    bytes = .allocate(capacity: start.utf8.count + encoded.utf8.count + end.utf8.count)
    var index = 0
    for (text, isEncoded) in [(start, false), (encoded, true), (end, false)] {
      for byte in text.utf8 {
        bytes[index] = isEncoded ? rot13(byte) : byte
        index += 1
      }
    }
  }

  deinit { bytes.deallocate() }

  func read(of source: TokenSource) -> TokenAnswer {
    let head = AnswerHead(status: 200, contentType: "application/json")
    return TokenAnswer.read(head, bytes.span, of: source, to: .token, now: 0, in: arena)
  }

  func wipe() { explicit_bzero(UnsafeMutableRawBufferPointer(bytes).baseAddress!, bytes.count) }
}
