/// Requests with paths that some servers resolve to a path outside the rules or the mount (T12).
enum PathRows {
  static let threat = 12

  static func all(at context: AttackContext) -> [AttackRow] {
    paths(at: context).map { .target(threat, $0, .withinRules) }
  }

  private static let upwards = [
    "../", "./../", "..//", "../../selftest/../", "%2e%2e/", "%2E%2e/", ".%2e/", "%2e./", "..%2f", "..%2F", "%2e%2e%2f",
    "%2e%2e%2F", "..%5c", "..\\", "%2e%2e%5c", "%252e%252e/", "%252e%252e%252f", "..%252f", "..;/", "..;x=y/",
    "%2e%2e;/", "..%3b/", "..%00/", ".%00./", "..%0a/", "..%09/", ".;/..;/", "..%c0%af", "..%u2215", "%c0%ae%c0%ae/",
  ]

  private static func paths(at context: AttackContext) -> [String] {
    let (inside, mount) = (context.path, context.mount)
    let depth = inside.dropFirst(mount.count).split(separator: "/").count
    let tail = context.deniedPath.map { String($0.dropFirst(mount.count)) }
    var paths: [String] = []
    for up in upwards {
      let climb = String(repeating: up, count: depth)
      if let tail { paths.append("\(inside)/\(climb)\(tail)") }
      paths.append("\(inside)/\(climb)\(up)selftest-elsewhere")
    }
    paths += [
      "/..", "/%2e%2e", "/../", "/.", "\\..\\x", "\\x", "%00", "%00/../x", "%0d%0aX-Evil:1", "%", "%2", "%zz", "%u002e",
      "%c0%af",
      "\u{7f}", "\u{E9}", "#/../x",
    ].map { inside + $0 }
    paths += ["/.", "/..", "/%2e%2e", "\(mount)..", "\(mount)%2e%2e"].map { $0 + inside }
    paths += [
      "\(mount)%2e%2e/", "/" + inside.dropFirst().replacing("/", with: "%2f"),
      "/" + inside.dropFirst().replacing("/", with: "%252f"),
    ]
    if let outside = context.deniedPath, let tail {
      paths += [
        outside, "\(mount)/\(tail)", "\(mount)./\(tail)", "\(mount)%2f\(tail)",
        "\(mount)\\\(tail)", "\(mount);x/\(tail)", "\(outside);x", "\(outside)%20",
        "\(mount)x/..;/\(tail)", "\(outside)#/\(inside)", "\(outside)%3f", "/\(mount)\(tail)",
      ]
      paths += disguises(of: tail.split(separator: "/").map(String.init)).map { mount + $0 }
    }
    return paths
  }

  /// Returns spellings of a path that some servers decode to the same path.
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
}
