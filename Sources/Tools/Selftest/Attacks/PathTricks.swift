internal import Gateway
internal import Policy

/// Spellings that lead from a path that is let through to one that is not.
struct PathTricks {
  /// From a permitted path to one below the mount that no rule lets through, and out of the mount altogether.
  let all: [String]

  private static let upwards = [
    "../", "./../", "..//", "../../selftest/../", "%2e%2e/", "%2E%2e/", ".%2e/", "%2e./", "..%2f", "..%2F", "%2e%2e%2f",
    "%2e%2e%2F", "..%5c", "..\\", "%2e%2e%5c", "%252e%252e/", "%252e%252e%252f", "..%252f", "..;/", "..;x=y/",
    "%2e%2e;/", "..%3b/", "..%00/", ".%00./", "..%c0%af", "..%u2215", "%c0%ae%c0%ae/",
  ]

  /// - Parameter outside: a path below the mount that is refused; nil: there is none.
  init(_ target: Target, outside: String?) {
    let inside = target.path
    let depth = inside.dropFirst(target.mount.count).split(separator: "/").count
    let tail = outside.map { String($0.dropFirst(target.mount.count)) }
    var paths: [String] = []
    for up in Self.upwards {
      let climb = String(repeating: up, count: depth)
      if let tail { paths.append("\(inside)/\(climb)\(tail)") }
      paths.append("\(inside)/\(climb)\(up)selftest-elsewhere")
    }
    paths += [inside + "/..", inside + "/%2e%2e", inside + "\\..\\x", inside + "%00", target.mount + "%2e%2e/"]
    if let outside, let tail {
      paths += [
        outside, "\(target.mount)/\(tail)", "\(target.mount)./\(tail)", "\(target.mount)%2f\(tail)",
        "\(target.mount)\\\(tail)", "\(target.mount);x/\(tail)", "\(outside);x", "\(outside)%20",
        "\(target.mount)x/..;/\(tail)", "\(outside)#/\(inside)", "\(outside)%3f", "/\(target.mount)\(tail)",
      ]
      paths += Self.disguises(of: tail.split(separator: "/").map(String.init)).map { target.mount + $0 }
    }
    all = paths
  }

  /// Spellings of one path, each with one segment or one slash written so that some servers read it as it was.
  private static func disguises(of segments: [String]) -> [String] {
    var paths: [String] = []
    for index in segments.indices {
      let name = segments[index]
      let code = name.utf8.first.map { String($0, radix: 16) } ?? "78"
      let rest = name.dropFirst()
      for disguise in ["%\(code)\(rest)", "%25\(code)\(rest)", "\(name);x", "\(name);x=y", "\(name)%3bx", "./\(name)"] {
        var changed = segments
        changed[index] = disguise
        paths.append(changed.joined(separator: "/"))
      }
      let before = segments[...index].joined(separator: "/")
      let after = segments[(index + 1)...].joined(separator: "/")
      if !after.isEmpty { paths += ["//", "%2f", "%252f", "\\", "%5c", ";/"].map { before + $0 + after } }
    }
    return paths
  }

  /// A path below the mount that the live rules refuse.
  static func outside(of target: Target, _ snapshot: Snapshot) -> String? {
    guard let rules = target.service.rules else { return nil }
    let denied = rules.filter { $0.action == .deny }.flatMap { Target.witnesses(of: $0.pattern.text) }
    let paths = denied.map { target.mount + $0.dropFirst() } + [target.mount + "admin/selftest", target.mount + "x"]
    return paths.first { path in
      let head = "\(target.method) \(path) HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"
      return snapshot.explain(head, listener: target.service.listener)?.refusal != nil
    }
  }
}
