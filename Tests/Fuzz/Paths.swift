import HTTP1
import Policy

/// The first line of the input is a request target. Each further line is a rule: its action (`-` denies, `0` adds
/// nothing, `1` and `2` add a credential), a space, and its pattern.
func fuzzPath(_ bytes: [UInt8]) {
  let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
  guard let target = lines.first, let read = canonical(target) else { return }
  checkCanonical(target, read)
  if read.path.isEmpty { return }
  let readings = everyReading(of: read.path)
  for reading in readings {
    promise(!hasDotSegment(reading), "\(shown(target)) can be read as \(shown(reading))")
  }
  checkServices(read, readings)
  checkRules(read, readings, lines.dropFirst().prefix(6).compactMap(rule))
}

private func canonical(_ target: [UInt8]) -> CanonicalTarget? {
  var read = CanonicalTarget()
  do throws(PolicyRefusal) {
    try read.read(target.span)
    return read
  } catch {
    return nil
  }
}

/// Checks that the canonical path is valid in a URL and does not change when it is read again, and that the query is
/// kept.
private func checkCanonical(_ target: [UInt8], _ read: CanonicalTarget) {
  let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
  promise(read.query == target[mark...].flatMap(written) || read.path.isEmpty, "another query in \(shown(target))")
  if read.path.isEmpty { return promise(target == [UInt8(ascii: "*")], "an empty path for \(shown(target))") }
  promise(read.path.first == UInt8(ascii: "/"), "no slash first in \(shown(read.path))")
  if target.first == UInt8(ascii: "/") {
    let dotted = canonical(bytesOf("/.") + target)
    promise(dotted?.path == read.path && dotted?.readings == read.readings, "a plain dot changes \(shown(target))")
  }
  var index = 0
  while index < read.path.count {
    let byte = read.path[index]
    if byte == UInt8(ascii: "%") {
      let digits = read.path[(index + 1)...].prefix(2)
      let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      promise(digits.count == 2 && value != nil && !digits.contains { $0 >= 0x61 }, "escapes of \(shown(read.path))")
      promise(value.map { $0 >= 0x20 && $0 != 0x7F } == true, "an escaped control byte")
      index += 3
    } else {
      promise(isPathCharacter(byte), "a byte of \(shown(read.path))")
      index += 1
    }
  }
  guard let again = canonical(read.path) else { return promise(false, "\(shown(read.path)) is refused") }
  promise(again.path == read.path && again.query.isEmpty, "\(shown(read.path)) becomes \(shown(again.path))")
  promise(again.readings == read.readings, "other readings of \(shown(read.path))")
  promise(Set(read.readings).count == read.readings.count && !read.readings.contains(read.path), "readings twice")
  promise(read.readings.count <= 64, "\(read.readings.count) readings")
}

/// Returns the byte of a query as it is sent: plain or escaped.
private func written(_ byte: UInt8) -> [UInt8] {
  if isPathCharacter(byte) || "?%".utf8.contains(byte) { return [byte] }
  return bytesOf("%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true))
}

// MARK: decisions

private let admitted: AdmittedRequest = {
  var head = RequestHead()
  var reader = HeadReader(limits: HeadLimits())
  let admission = Admission(callers: Callers(uids: [1000]), authorities: ["localhost:7070"])
  do {
    _ = try reader.readRequest(bytesOf("GET / HTTP/1.1\r\nHost: localhost:7070\r\n\r\n").span, into: &head)
    return try admission.admit(head, caller: Caller(uid: 1000), listener: 0)
  } catch {
    preconditionFailure("\(error)")
  }
}()

private func decide(_ set: RuleSet, _ read: CanonicalTarget) -> Route? {
  var trace: [RuleVerdict]?
  do throws(PolicyRefusal) {
    return try set.decide(admitted, method: .get, methodName: "GET".utf8.span, target: read, trace: &trace)
  } catch {
    return nil
  }
}

private func service(_ mount: Mount, _ rules: [Rule]?) -> Service {
  guard let upstream = try? Upstream(parsing: "https://up.test/") else { preconditionFailure("no upstream") }
  var service = Service(name: "", listener: 0, mount: mount, upstream: upstream, credential: .inject(0))
  service.rules = rules
  return service
}

private let mounts = ["/a/", "/b/", "/a/b/", "/a/b/;/", "/"].map(bytesOf)
private let services = RuleSet(services: mounts.map { service(.path($0), nil) }, grants: [])

/// Checks that every reading of the path leads to the same service.
private func checkServices(_ read: CanonicalTarget, _ readings: [[UInt8]]) {
  guard let route = decide(services, read) else { return }
  for reading in readings {
    let found = mounts.indices.filter { reading.starts(with: mounts[$0]) }.max { mounts[$0].count < mounts[$1].count }
    promise(found == route.service, "\(shown(read.path)) goes to \(route.service), but is \(shown(reading))")
  }
}

private func rule(_ line: [UInt8]) -> Rule? {
  let actions: [UInt8: Rule.Action] = [
    0x2D: .deny, 0x30: .forward(.none), 0x31: .forward(.inject(0)), 0x32: .forward(.inject(1)),
  ]
  guard line.count > 2, line[1] == 0x20, let action = line.first.flatMap({ actions[$0] }),
    let pattern = try? URLPattern(parsing: String(decoding: line[2...], as: UTF8.self))
  else { return nil }
  return Rule(
    pattern: pattern, methods: .every, action: action, headers: HeaderPolicy(), description: nil, line: 0)
}

/// Checks that the rules decide the same for every reading of an allowed path.
private func checkRules(_ read: CanonicalTarget, _ readings: [[UInt8]], _ rules: [Rule]) {
  guard let route = decide(RuleSet(services: [service(.whole, rules)], grants: []), read) else { return }
  for reading in readings + readings.flatMap(networkPaths).flatMap(everyReading) {
    let action = rules.first { $0.pattern.matches(reading.span) }?.action
    promise(
      action == .forward(route.credential),
      "\(shown(read.path)) goes out with \(route.credential), but is \(shown(reading)) under \(rules.map(\.pattern.text))"
    )
  }
}
