import Credentials
import Secrets
import Glibc
import OAuth
import Settings
import TestSupport
import Testing

/// Searches the memory of the process for a parsed token.
@Suite struct TokenParserMemoryTests {
  /// The token in ROT13, so that the test itself contains no copy of the token.
  private static let encoded = "PNANEL-sbyybj-gur-juvgr-enoovg"

  @Test(.enabled(if: !isSanitized)) func `the response parser leaves no copy of a token in memory`()
    async
  {
    await #expect(processExitsWith: .success) {
      let source = try OAuthTests.source(.refreshToken(first: somewhere))
      // The parser handles each body differently: accepted, refused after the token, and malformed.
      let bodies = [
        (#"{"token_type":"Bearer","access_token":""#, #""}"#, true),
        (#"{"token_type":"Bearer","access_token":""#, #"","access_token":"b"}"#, false),
        (#"{"token_type":"Bearer","access_token":"x\n"#, #""}"#, false),
        (#"{"token_type":"Bearer","access_token":""#, "", false), (#"{"token_type":"Bearer","#, #":1}"#, false),
        (#"{"token_type":"Bearer","access_token":1"#, #"}"#, false),
      ]
      // The first call of a C function saves all registers, which may contain a copy. Therefore the bodies are first
      // read once.
      for (start, end, _) in bodies { _ = Body(start, "other", end).read(of: source) }
      for (start, end, isAccepted) in bodies {
        // Long, so that a freed block is not reused soon.
        let body = Body(start, String(repeating: TokenParserMemoryTests.encoded, count: 20), end)
        let response = body.read(of: source)
        body.wipe()
        let found = occurrences(of: TokenParserMemoryTests.encoded)
        switch consume response {
        case .granted(let grant):
          guard isAccepted, found == 20, grant.accessToken.count == 20 * TokenParserMemoryTests.encoded.utf8.count
          else { exit(1) }
        case .refused:
          guard !isAccepted, found == 0 else { exit(2) }
        }
        guard occurrences(of: TokenParserMemoryTests.encoded) == 0 else { exit(3) }
      }
    }
  }
}

/// A response body in manually managed memory, without copies in arrays.
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

  func read(of source: TokenSource) -> TokenResponse {
    let head = TokenResponseHead(status: 200, contentType: "application/json")
    return TokenResponse.read(head, bytes.span, of: source, to: .token, now: 0, in: arena)
  }

  func wipe() { explicit_bzero(UnsafeMutableRawBufferPointer(bytes).baseAddress!, bytes.count) }
}
