import Gateway
import HTTP1

/// What an upstream writes into a field that names a place: one value, which is tried in each of the fields.
func fuzzPlaces(_ bytes: [UInt8]) {
  if bytes.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) { return }
  let link = bytesOf("<") + bytes + bytesOf(">; rel=next")
  for site in sites {
    if let wire = answer(
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
    // As it comes, for what the grammar of the field allows.
    let wire = answer([("refresh", bytes), ("link", bytes), ("set-cookie", bytes)], site)
    for cookie in wire?.values("set-cookie") ?? [] { checkCookie(cookie, site) }
  }
}

private struct Site {
  let snapshot: Snapshot
  let target: String
  /// What the service's paths begin with, here and there.
  let mount: String
  let base: String
  var nested: [String] = []
}

private let sites = [
  Site(snapshot: World.usual, target: "/api/dir/x", mount: "/api/", base: "/base/"),
  Site(snapshot: World.nested, target: "/api/dir/x", mount: "/api/", base: "/base/", nested: ["/api/in/"]),
  Site(snapshot: World.whole, target: "/dir/x", mount: "/", base: "/"),
]

/// The answer that came through; nil if it was refused.
private func answer(_ fields: [(name: String, value: [UInt8])], _ site: Site) -> Wire? {
  var proxy = Proxy(site.snapshot)
  proxy.client(bytesOf("GET \(site.target) HTTP/1.1\r\nHost: localhost:7070\r\n\r\n"))
  var head = bytesOf("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n")
  for field in fields { head += bytesOf(field.name + ": ") + field.value + bytesOf("\r\n") }
  proxy.upstream(head + bytesOf("X-Last: 1\r\n\r\n"))
  let wire = Wire(proxy.toClient, "an answer")
  if wire.firstLine.starts(with: bytesOf("HTTP/1.1 502 ")) { return nil }
  promise(wire.values("x-last") == [[0x31]], "the answer lost a field: \(shown(proxy.toClient))")
  let others = wire.fields.count - fields.count { !wire.values($0.name).isEmpty }
  promise(others == 2, "fields became others: \(shown(proxy.toClient))")
  return wire
}

/// The place is where the upstream meant, as a browser resolves it; and inside the service, or nowhere on this machine.
private func check(_ value: [UInt8], written: [UInt8], _ site: Site) {
  let base = site.base == "/" ? site.target : site.base + site.target.dropFirst(site.mount.utf8.count)
  let meant = URL(written, against: URL(scheme: "https", authority: bytesOf("up.test"), path: bytesOf(base)))
  let local = URL(scheme: "http", authority: bytesOf("localhost:7070"), path: bytesOf(site.target))
  var led = URL(value, against: local)
  let words = "\(shown(written)) became \(shown(value))"
  if led.scheme == "http", led.authority == local.authority {
    // A reference that says nothing of the path stays where it is.
    promise(
      led.path.starts(with: bytesOf(site.mount)) && !site.nested.contains { led.path.starts(with: bytesOf($0)) },
      "\(words), out of the service")
    promise(!led.path.starts(with: bytesOf("//")), "\(words), an authority")
    led = URL(
      scheme: "https", authority: bytesOf("up.test"),
      path: bytesOf(site.base) + led.path.dropFirst(site.mount.utf8.count),
      rest: led.rest)
  } else {
    promise(!isLocal(led), "\(words), which is ours")
  }
  promise(led == meant, "\(words): \(led) instead of \(meant)")
}

/// Whether a refresh reads `url=` or a quote at the beginning.
private func isWrapped(_ bytes: [UInt8]) -> Bool {
  let rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
  return rest.prefix(3).map { $0 | 0x20 }.elementsEqual("url".utf8) || rest.first == 0x22 || rest.first == 0x27
}

/// Of this host, below this service, and kept without TLS.
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
