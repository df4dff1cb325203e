import Gateway
import HTTP1

/// The input is the value of a response field that contains a URL. Each of these fields gets the value.
func fuzzLocations(_ bytes: [UInt8]) {
  if bytes.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) { return }
  let link = bytesOf("<") + bytes + bytesOf(">; rel=next")
  for site in sites {
    if let wire = response(
      [("location", bytes), ("content-location", bytes), ("refresh", bytesOf("5; url=") + bytes), ("link", link)], site)
    {
      for value in wire.values("location") + wire.values("content-location") { check(value, written: bytes, site) }
      for value in wire.values("refresh") {
        promise(value.starts(with: bytesOf("5; url=")), "a refresh \(shown(value))")
        if !isWrapped(bytes) { check(Array(value.dropFirst(7)), written: bytes, site) }
      }
      for value in wire.values("link") where !bytes.contains(0x3E) {
        promise(value.first == 0x3C && value.suffix(11).elementsEqual(">; rel=next".utf8), "a link \(shown(value))")
        check(Array(value.dropFirst().dropLast(11)), written: bytes, site)
      }
    }
    // The plain value, which may follow the grammar of the field.
    let wire = response([("refresh", bytes), ("link", bytes), ("set-cookie", bytes)], site)
    for cookie in wire?.values("set-cookie") ?? [] { checkCookie(cookie, site) }
  }
}

private struct Site {
  let snapshot: Snapshot
  let target: String
  /// The prefix of the service's paths, at bearerd and at the upstream.
  let mount: String
  let base: String
  var nested: [String] = []
}

private let sites = [
  Site(snapshot: World.usual, target: "/api/dir/x", mount: "/api/", base: "/base/"),
  Site(snapshot: World.nested, target: "/api/dir/x", mount: "/api/", base: "/base/", nested: ["/api/in/"]),
  Site(snapshot: World.whole, target: "/dir/x", mount: "/", base: "/"),
]

/// Returns the forwarded response, or `nil` if bearerd refused the response.
private func response(_ fields: [(name: String, value: [UInt8])], _ site: Site) -> Wire? {
  var proxy = Proxy(site.snapshot)
  proxy.client(bytesOf("GET \(site.target) HTTP/1.1\r\nHost: localhost:7070\r\n\r\n"))
  var head = bytesOf("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n")
  for field in fields { head += bytesOf(field.name + ": ") + field.value + bytesOf("\r\n") }
  proxy.upstream(head + bytesOf("X-Last: 1\r\n\r\n"))
  let wire = Wire(proxy.toClient, "an answer")
  if wire.firstLine.starts(with: bytesOf("HTTP/1.1 502 ")) { return nil }
  promise(wire.values("x-last") == [[0x31]], "the answer lost a field: \(shown(proxy.toClient))")
  let others = wire.fields.count - fields.count { !wire.values($0.name).isEmpty }
  // X-Last and Content-Length, and after a credential Cache-Control, which bearerd adds.
  promise(others == 2 + wire.values("cache-control").count, "fields became others: \(shown(proxy.toClient))")
  return wire
}

/// Checks that the URL leads to the location that the upstream expected, and on this machine only to the same service.
private func check(_ value: [UInt8], written: [UInt8], _ site: Site) {
  let base = site.base == "/" ? site.target : site.base + site.target.dropFirst(site.mount.utf8.count)
  let expected = URL(written, against: URL(scheme: "https", authority: bytesOf("up.test"), path: bytesOf(base)))
  let local = URL(scheme: "http", authority: bytesOf("localhost:7070"), path: bytesOf(site.target))
  var resolved = URL(value, against: local)
  let words = "\(shown(written)) became \(shown(value))"
  if resolved.scheme == "http", resolved.authority == local.authority {
    promise(
      resolved.path.starts(with: bytesOf(site.mount))
        && !site.nested.contains { resolved.path.starts(with: bytesOf($0)) },
      "\(words), out of the service")
    promise(!resolved.path.starts(with: bytesOf("//")), "\(words), an authority")
    resolved = URL(
      scheme: "https", authority: bytesOf("up.test"),
      path: bytesOf(site.base) + resolved.path.dropFirst(site.mount.utf8.count),
      rest: resolved.rest)
  } else {
    promise(!isLocal(resolved), "\(words), which is ours")
  }
  promise(resolved == expected, "\(words): \(resolved) instead of \(expected)")
}

/// Whether the value begins with `url` or a quote, which `Refresh` does not treat as part of the URL.
private func isWrapped(_ bytes: [UInt8]) -> Bool {
  let rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
  return rest.prefix(3).map { $0 | 0x20 }.elementsEqual("url".utf8) || rest.first == 0x22 || rest.first == 0x27
}

/// Checks that a cookie has no Domain and no Secure, and only paths of this service.
private func checkCookie(_ cookie: [UInt8], _ site: Site) {
  for part in cookie.split(separator: 0x3B, omittingEmptySubsequences: false).dropFirst() {
    let attribute = part.drop { $0 == 0x20 || $0 == 0x09 }
    let name = attribute.prefix { $0 != 0x3D }.map(lowercased)
    promise(name != bytesOf("domain") && name != bytesOf("secure"), "a cookie \(shown(cookie))")
    if name == bytesOf("path"), attribute.count > 4 {
      promise(attribute.dropFirst(5).starts(with: bytesOf(site.mount)), "a cookie out of the service: \(shown(cookie))")
    }
  }
}
