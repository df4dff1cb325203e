import Foundation
import Crypto

/// Verifies the OAuth 1.0a signature of a recorded request (RFC 5849 section 3.2).
package struct SignedRequest {
  private let method: Substring
  private let target: Substring
  private let fields: [String: String]
  private let body: String

  package init?(_ text: String) {
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    (method, target) = (words[0], words[1])
    fields = Dictionary(
      lines.dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (parts[0].lowercased(), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
      }
    ) { first, _ in first }
    var rest = String(text[end.upperBound...])
    if fields["transfer-encoding"] != nil {
      rest = rest.components(separatedBy: "\r\n").enumerated().filter { $0.offset % 2 == 1 }.map(\.element).joined()
    }
    body = rest
  }

  /// - Parameter origin: In lower case, without the default port of its scheme.
  package func isSigned(secret: String, tokenSecret: String, origin: String) -> Bool {
    guard let line = fields["authorization"], line.hasPrefix("OAuth ") else { return false }
    var parameters: [(String, String)] = []
    var signature: String?
    for part in line.dropFirst("OAuth ".count).components(separatedBy: ", ") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { return false }
      let value = String(pair[1].dropFirst().dropLast()).removingPercentEncoding ?? "?"
      if pair[0] == "oauth_signature" {
        signature = value
      } else if pair[0] != "realm" {
        parameters.append(("\(pair[0])", value))
      }
    }
    let path = target.prefix { $0 != "?" }
    parameters += Self.decoded(String(target.dropFirst(path.count + 1)))
    if fields["content-type"]?.hasPrefix("application/x-www-form-urlencoded") == true {
      parameters += Self.decoded(body)
    }
    let sorted = parameters.map { (Self.encoded($0.0), Self.encoded($0.1)) }.sorted { $0 < $1 }
    let joined = sorted.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    let base = [String(method), origin + path, joined].map(Self.encoded).joined(separator: "&")
    let key = "\(Self.encoded(secret))&\(Self.encoded(tokenSecret))"
    let digest = Array(base.utf8).withUnsafeBytes { base in
      Array(key.utf8).withUnsafeBytes { hmacSHA1(of: base, key: $0) }
    }
    return digest.map { Data($0).base64EncodedString() } == signature
  }

  private static func decoded(_ text: String) -> [(String, String)] {
    text.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? "?"
      }
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
  }

  /// Percent-encodes a text (RFC 5849 section 3.6).
  private static func encoded(_ text: some StringProtocol) -> String {
    let unreserved = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "?"
  }
}
