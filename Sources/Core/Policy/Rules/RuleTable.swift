internal import HTTP1

/// The rules of all services, flat: a decision walks over plain numbers and touches no reference count.
struct RuleTable: Sendable, Equatable {
  private struct Line: Sendable, Equatable {
    let symbols: Range<Int>
    let literals: Int
    let ignoresCase: Bool
    let methods: UInt16
  }

  private struct Group: Sendable, Equatable {
    let hasRules: Bool
    let lines: Range<Int>
    /// Length of the mount; where a path below it begins is one before.
    let mount: Int
  }

  /// The word of a service's rules on one reading of a path.
  enum Verdict: Equatable {
    case unruled
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
        symbols += rule.pattern.compared
        lines.append(
          Line(
            symbols: start..<symbols.count, literals: rule.pattern.literals,
            ignoresCase: rule.pattern.ignoresCase, methods: rule.methods.known))
      }
      let mount =
        switch service.mount {
        case .path(let path): path.count
        case .host, .whole: 1
        }
      groups.append(Group(hasRules: service.rules != nil, lines: first..<lines.count, mount: max(mount, 1)))
    }
  }

  /// Index of the slash that ends the mount.
  func pathStart(of service: Int) -> Int { groups[service].mount - 1 }

  /// The first rule that matches decides. `rules` is asked only for the names of methods that `Method` does not know.
  func verdict(
    of service: Int, rules: [Rule]?, path: Span<UInt8>, method: Method, name: Span<UInt8>,
    trace: inout [RuleVerdict]?
  ) -> Verdict {
    let group = groups[service]
    guard group.hasRules else { return .unruled }
    let start = min(group.mount - 1, path.count)
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
      // Without a trace the path need not be looked at.
      if !hasMethod, trace == nil { continue }
      let matches = Glob.matches(
        path, pattern: symbols.span.extracting(line.symbols), literals: line.literals, ignoringCase: line.ignoresCase)
      if matches, hasMethod {
        if trace == nil { return .rule(number) }
        winner = number
      }
      trace?.append(RuleVerdict(rule: number, outcome: matches ? (hasMethod ? .won : .methodDiffers) : .pathDiffers))
    }
    return winner.map { .rule($0) } ?? .noMatch
  }
}
