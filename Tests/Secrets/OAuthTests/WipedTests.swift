import Credentials
import Secrets
import Glibc
import OAuth
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
      let bodies = [
        (#"{"token_type":"Bearer","access_token":""#, #""}"#, true),
        (#"{"token_type":"Bearer","access_token":""#, #"","access_token":"b"}"#, false),
        (#"{"token_type":"Bearer","access_token":"x\n"#, #""}"#, false),
        (#"{"token_type":"Bearer","access_token":""#, "", false), (#"{"token_type":"Bearer","#, #":1}"#, false),
        (#"{"token_type":"Bearer","access_token":1"#, #"}"#, false),
      ]
      // The first call of a C function saves all registers, in which a copy may be under way: not what this is about.
      for (start, end, _) in bodies { _ = Body(start, "other", end).read(of: source) }
      for (start, end, isTaken) in bodies {
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
