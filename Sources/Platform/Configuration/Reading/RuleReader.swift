internal import Policy
internal import Settings

struct RuleLocations {
  let match: TextLocation
  let credential: TextLocation?
  let headers: TextLocation
}

extension SettingsReader {
  typealias ReadRule = (rule: Rule, locations: RuleLocations)

  /// Reads `rules`, and returns `nil` if the key is not present.
  func rules(
    _ fields: Fields<ServiceKey>, _ headers: HeaderPolicy, _ credential: CredentialChoice,
    _ surrounding: SurroundingSettings
  ) -> [ReadRule]? {
    guard let node = fields[.rules] else { return nil }
    guard case .sequence(let nodes) = node.content else {
      if case .refused = node.content { return nil }
      report.error(
        node.location, "\"rules\" must be a list",
        help: "write one line for each rule: - { match: \"/**\", methods: [GET] }")
      return nil
    }
    if nodes.isEmpty {
      report.warning(
        node.location, "the list of rules is empty: every request gets 403",
        help: "delete the line, or add - { match: \"/**\" }")
    }
    return nodes.compactMap { rule($0, headers, credential, surrounding.credentials) }
  }

  private func rule(
    _ node: YAMLNode, _ serviceHeaders: HeaderPolicy, _ serviceCredential: CredentialChoice,
    _ credentials: [CredentialDraft]
  ) -> ReadRule? {
    guard let fields = fields(node, at: node.location, of: RuleKey.self) else { return nil }
    let pattern = pattern(fields)
    let methods = methods(fields)
    let isDenial = denies(fields)
    let isExact = isExact(fields, isDenial: isDenial)
    let credential = fields[.credential].flatMap { choice($0, among: credentials) }
    let headers = headers(
      HeaderKeys(
        set: fields[.setHeaders], remove: fields[.removeHeaders], removeParameters: fields[.removeParameters],
        allow: fields[.allowClientHeaders], onClient: fields[.onClientHeader]), over: serviceHeaders)
    let rate = fields[.rate].flatMap { self.rate($0) }
    let description = fields[.description].flatMap { text($0, "text") }
    guard let pattern, let methods else { return nil }
    let rule = Rule(
      pattern: pattern, methods: methods, action: isDenial ? .deny : .forward(credential ?? serviceCredential),
      headers: headers,
      description: description, line: node.location.line, rate: rate ?? .inherited, isExact: isExact)
    let headersKey: RuleKey = fields.has(.setHeaders) ? .setHeaders : .allowClientHeaders
    let locations = RuleLocations(
      match: fields[.match]?.location ?? node.location, credential: fields[.credential]?.location,
      headers: fields.location(of: headersKey))
    return (rule, locations)
  }

  private func pattern(_ fields: Fields<RuleKey>) -> URLPattern? {
    guard let node = fields[.match] else {
      missing(.match, in: fields, "the rule has no \"match\"", help: "add match: \"/**\"")
      return nil
    }
    guard let text = text(node, "a pattern like /repos/**") else { return nil }
    do throws(PolicySyntaxError) {
      return try URLPattern(parsing: text)
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  /// Reports the pattern `*` where the user probably means `/*`.
  func checkAsterisks(_ rules: [ReadRule], at mount: Mount) {
    // `*` matches only the request `OPTIONS *`.
    for (rule, locations) in rules where rule.pattern.isAsterisk {
      if case .path(let path) = mount, path.count > 1 {
        report.error(
          locations.match,
          "\"*\" matches only the request OPTIONS *, and a service under a path never gets that request",
          help:
            "write /* for paths of one segment, or /** for every path. To get OPTIONS *, write at: / in the service")
      } else if !rule.methods.names.isEmpty, rule.methods.names != ["OPTIONS"] {
        report.error(
          locations.match, "\"*\" matches only the request OPTIONS *, but this rule names other methods",
          help: "write methods: [OPTIONS], or write /* for paths of one segment, or /** for every path")
      } else if rule.methods.names.isEmpty {
        report.advice(
          locations.match, "\"*\" matches only the request OPTIONS *, and no path",
          help:
            "write /* for paths of one segment, or /** for every path. If you mean OPTIONS *, add methods: [OPTIONS]")
      }
    }
  }

  private func methods(_ fields: Fields<RuleKey>) -> MethodSet? {
    guard let node = fields[.methods] else { return .every }
    guard let nodes = filledList(node, of: "methods") else { return nil }
    guard nodes.count <= Self.maxMethods else {
      report.error(
        node.location, "the rule has more than \(Self.maxMethods) methods",
        help: "delete the line: the rule then covers every method")
      return nil
    }
    var names: [String] = []
    var seen: Set<String> = []
    for node in nodes {
      guard let name = method(node) else { continue }
      if seen.insert(name).inserted {
        names.append(name)
      } else {
        report.error(node.location, "\(name) is listed twice")
      }
    }
    guard names.count == nodes.count else { return nil }
    do throws(PolicySyntaxError) {
      return try MethodSet(names)
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private static let maxMethods = 64

  private func method(_ node: YAMLNode) -> String? {
    guard let name = text(node, "a method like GET") else { return nil }
    if name.utf8.contains(where: { $0 >= 0x61 && $0 <= 0x7A }) {
      let upper = String(decoding: name.utf8.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }, as: UTF8.self)
      report.error(
        node.location, "the method \(quoted(name)) is not in capital letters",
        help: FieldRules.isToken(upper) ? "write \(upper)" : nil)
      return nil
    }
    do throws(PolicySyntaxError) {
      _ = try MethodSet([name])
      return name
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  /// Returns `true` if a rule has `case: exact`, and `false` if it ignores letter case.
  private func isExact(_ fields: Fields<RuleKey>, isDenial: Bool) -> Bool {
    guard let node = fields[.letterCase] else { return false }
    guard isDenial else {
      report.error(
        fields.location(of: .letterCase),
        "\"case\" is allowed only with deny: true. In other rules, letter case always matters",
        help: "delete the line")
      return false
    }
    return choice(node, [("any", false), ("exact", true)]) ?? false
  }

  private func denies(_ fields: Fields<RuleKey>) -> Bool {
    guard let node = fields[.deny] else { return false }
    guard let denies = boolean(node) else { return false }
    guard denies else {
      report.error(node.location, "\"deny\" can only be true", help: "delete the line")
      return false
    }
    let pointless: [RuleKey] = [
      .credential, .rate, .setHeaders, .removeHeaders, .removeParameters, .allowClientHeaders, .onClientHeader,
    ]
    for key in pointless where fields.has(key) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is not allowed with deny: true", help: "delete one of the two")
    }
    return true
  }
}
