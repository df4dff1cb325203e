import Gateway
import HTTP1
import Policy

private let host = "api.example.com"

/// Checks that a jar stores a Set-Cookie value as one valid pair of a Cookie field, and only if it is for this host.
func checkCookie(_ line: [UInt8]) {
  guard let name = try? HostName(parsing: host),
    let kept = JarCookie(0..<line.count, of: line.span, host: name, requestPath: bytesOf("/v1/x"))
  else { return }
  let pair = Array(line[kept.name]) + bytesOf("=") + Array(line[kept.value])
  let isClean = pair.allSatisfy { $0 >= 0x20 && $0 <= 0x7E && $0 != 0x3B }
  promise(isClean, "a jar has bytes that end a field: \(shown(pair))")
  promise(pair.count <= 4_097, "a jar has a cookie of \(pair.count) bytes")
  promise(pair.prefix { $0 != 0x3D }.elementsEqual(line[kept.name]), "another name goes out: \(shown(pair))")
  promise(kept.path.first == 0x2F, "a path that is none: \(shown(kept.path))")
  let parts = line.split(separator: 0x3B, omittingEmptySubsequences: false)
  let domains = parts.dropFirst().compactMap { part -> String? in
    let words = String(decoding: part, as: UTF8.self).lowercased().split(
      separator: "=", maxSplits: 1, omittingEmptySubsequences: false
    ).map { $0.trimmingBlanks }
    return words.first == "domain" ? words.count > 1 ? words[1] : "" : nil
  }
  if let last = domains.last, !last.isEmpty {
    promise(last == host || last == "." + host, "a cookie of \(last) is kept for \(host)")
  }
  _ = kept.cookie.lifetime(now: 1_795_305_600, of: line.span)
}

/// Checks all Set-Cookie fields of a response.
func checkCookies(of head: ResponseHead) {
  for field in head.fields where field.known == .setCookie { checkCookie(Array(head.bytes[field.value])) }
}

extension Substring {
  fileprivate var trimmingBlanks: String {
    var text = self
    while text.utf8.first == 0x20 || text.utf8.first == 0x09 { text.removeFirst() }
    while text.utf8.last == 0x20 || text.utf8.last == 0x09 { text.removeLast() }
    return String(text)
  }
}
