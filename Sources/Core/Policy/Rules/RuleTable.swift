internal import HTTP1

/// The rules of all services in flat arrays.
struct RuleTable: Sendable, Equatable {
  private struct Line: Sendable, Equatable {
    let symbols: Range<Int>
    let literalCount: Int
    let ignoresCase: Bool
    let methods: UInt16
  }

  private struct Group: Sendable, Equatable {
    let hasRules: Bool
    let lines: Range<Int>
    let mountLength: Int
  }

  /// The decision of a service's rules for one reading of a path.
  enum Verdict: Equatable {
    case noRules
    case noMatch
    case rule(Int)
  }

  private var symbols: [Glob.Symbol] = []
  private var lines: [Line] = []
  private var groups: [Group] = []

  init(_ services: [Service]) {
    for service in services {
      let first = lines.count
      for rule in service.rules ?? [] {
        let start = symbols.count
        symbols += rule.pattern.matchSymbols
        lines.append(
          Line(
            symbols: start..<symbols.count, literalCount: rule.pattern.literalCount,
            ignoresCase: rule.pattern.ignoresCase, methods: rule.methods.known))
      }
      let mount =
        switch service.mount {
        case .path(let path): path.count
        case .host, .whole: 1
        }
      groups.append(Group(hasRules: service.rules != nil, lines: first..<lines.count, mountLength: max(mount, 1)))
    }
  }

  /// Returns the index in the path at which the path below the mount begins.
  func pathStart(of service: Int) -> Int { groups[service].mountLength - 1 }

  /// Returns the first matching rule, and appends the outcome of every rule to `trace`.
  func verdict(
    of service: Int, rules: [Rule]?, path: Span<UInt8>, method: Method, name: Span<UInt8>,
    trace: inout [RuleVerdict]?
  ) -> Verdict {
    let group = groups[service]
    guard group.hasRules else { return .noRules }
    let start = min(group.mountLength - 1, path.count)
    let path = path.extracting(start...)
    var winner: Int?
    for (number, index) in group.lines.enumerated() {
      if winner != nil {
        trace?.append(RuleVerdict(rule: number, outcome: .notReached))
        continue
      }
      let line = lines[index]
      let hasMethod =
        line.methods & MethodSet.bit(method) != 0
        && (method != .other || rules?[number].methods.contains(.other, name: name) ?? false)
      // Only a trace needs the result for the path.
      if !hasMethod, trace == nil { continue }
      let matches = Glob.matches(
        path, pattern: symbols.span.extracting(line.symbols), literals: line.literalCount,
        ignoringCase: line.ignoresCase)
      if matches, hasMethod {
        if trace == nil { return .rule(number) }
        winner = number
      }
      trace?.append(RuleVerdict(rule: number, outcome: matches ? (hasMethod ? .won : .methodDiffers) : .pathDiffers))
    }
    return winner.map { .rule($0) } ?? .noMatch
  }
}
