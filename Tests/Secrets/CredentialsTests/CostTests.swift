import HTTP1
import HelperOutput
import Policy
import Primitives
import Settings
import System
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// The CPU time for reading requests, helper output and cookies (T60).
@Suite struct CostTests {
  @Test(arguments: signatures + registries + helpers + jars)
  func `T60: reading for a credential takes time proportional to the number of bytes`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  // MARK: signed requests

  private static let signatures: [Walker] = [
    ("parameters", "a&"), ("names that differ late", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1&"), ("escapes", "%61"),
    ("values", "a=%20%20&"),
    ("one name", "a"),
  ].flatMap { name, text in
    [(16_000, 0), (16_000, 65_536)].map { target, form in
      Walker("ParameterList", "\(name), \(form) bytes of them in a form", upTo: target + form) { count in
        let arena = SecretArena()
        let target = Array("/x?".utf8) + repeated(text, bytes: count * target / (target + form))
        let form = repeated(text, bytes: count * form / (target.count + form))
        return {
          try? target.withUnsafeBytes { bytes in
            try form.withUnsafeBytes { form in
              var list = try ParameterList(in: arena)
              try list.add(bytes)
              try list.add(form)
              try list.withNormalised { _ in }
            }
          }
        }
      }
    }
  }

  private static let registries: [Walker] =
    ["a", "/", "/tags", "/blobs/"].map { text in
      Walker("RegistryTokens", "a target of \(text)", upTo: 16_000) { count in
        var request = OutgoingRequest()
        request.begin(method: Array("GET".utf8).span, authority: [])
        request.line.append(contentsOf: Array("/v2/".utf8) + repeated(text, bytes: count))
        return { [request] in _ = RegistryTarget(request) }
      }
    } + [
      Walker("SignedForm", "many fields before a form", upTo: 16_000) { count in
        var request = OutgoingRequest()
        request.begin(method: Array("GET".utf8).span, authority: [])
        request.fields.append(contentsOf: repeated("x: \r\n", bytes: count / 5 * 5))
        request.fields.append("Content-Type: application/x-www-form-urlencoded\r\n")
        return { [request] in
          _ = SignedForm(
            request, body: UnsafeRawBufferPointer(start: nil, count: 0),
            for: HTTP1HeadEncoder(staging: UnsafeMutableRawBufferPointer(start: nil, count: 0)))
        }
      }
    ]

  // MARK: output of programs

  private static let helpers: [Walker] = [
    ("lines", "a=b\n"), ("short lines", "=\n"), ("keys", "wwwauth[]=x\n"), ("one line", "a"),
    ("open lists", "[[[[[[[["), ("lists", "[],"), ("texts", "\"a\","), ("a long text", "\\u0061"),
    ("members", "\"a\":1,"),
  ].flatMap { name, text in
    [
      CommandFormat.text, .execCredential,
      .gitCredential(GitDescription(host: "git.test", path: nil, user: nil, acceptsToken: false), stores: false),
    ]
    .map { format in
      Walker(
        format == .execCredential ? "JSONDocument" : "GitCredentialOutput", "\(name) as \(format)", upTo: 65_000,
        nanoseconds: 100
      ) { count in
        let start = format == .execCredential ? (text.hasPrefix("\\") ? "{\"a\":\"" : "{\"a\":[") : ""
        let end = format == .execCredential ? (text.hasPrefix("\\") ? "\"}" : "0]}") : ""
        let whole = repeated(text, bytes: count / text.utf8.count * text.utf8.count)
        let bytes = Array(start.utf8) + whole + Array(end.utf8)
        let command = SecretCommand(words: ["/bin/helper"], format: format, timeToLive: nil, timeout: 1)
        let arena = SecretArena()
        return {
          bytes.withUnsafeBytes { bytes in
            _ = try? HelperOutputReader(command: command, arena: arena, now: 0).read(bytes).secret.count
          }
        }
      }
    }
  }

  // MARK: cookies

  private static let jars: [Walker] = [1, 100].map { length in
    Walker("CookieJar", "cookies of \(length) bytes", upTo: 128 * length, nanoseconds: 2_000_000 / 128 / Double(length))
    { count in
      let jars = CookieJars(isShared: false)
      let key = CookieJars.Key(credential: "a", origin: try origin("https://upstream.test"))
      jars.update(to: [key], mustLock: false)
      guard let ticket = jars.ticket(to: key, of: .value("1")) else { return {} }
      let names = (0..<(count / length)).map { Array("\($0)".utf8) + repeated("n", bytes: length) }
      let value = repeated("v", bytes: length)
      return {
        for name in names {
          jars.store(name: name.span, value: value.span, path: [UInt8(ascii: "/")], lifetime: nil, with: ticket)
        }
      }
    }
  }
}
