internal import Policy
internal import Settings

struct RulesReader: SectionReader {
  let context: ReadingContext
  let credentials: CredentialChoiceReader

  typealias ReadRule = (rule: Rule, fields: Fields<RuleKey>)

  /// Returns `nil` if the key is not present.
  func rules(_ fields: Fields<ServiceKey>, _ headers: HeaderPolicy, _ credential: CredentialChoice) -> [ReadRule]? {
    guard let node = fields[.rules] else { return nil }
    guard case .sequence(let nodes) = node.content else {
      if case .refused = node.content { return nil }
      return report.error(
        node.location, "\"rules\" must be a list",
        help: "write one line for each rule: - { match: \"/**\", methods: [GET] }")
    }
    if nodes.isEmpty {
      report.warning(
        node.location, "the list of rules is empty: every request gets 403",
        help: "delete the line, or add - { match: \"/**\" }")
    }
    return nodes.compactMap { rule($0, headers, credential) }
  }

  private func rule(
    _ node: YAMLNode, _ serviceHeaders: HeaderPolicy, _ serviceCredential: CredentialChoice
  ) -> ReadRule? {
    guard let fields = fields(node, at: node.location, of: RuleKey.self) else { return nil }
    let pattern = pattern(fields)
    let methods = methods(fields)
    let isDenial = denies(fields)
    let isExact = isExact(fields, isDenial: isDenial)
    let credential = fields[.credential].flatMap { credentials.choice($0) }
    let headers = HeaderPolicyReader(context: context, fields: fields).policy(over: serviceHeaders)
    let rate = fields[.rate].flatMap { RateReader(context: context).rate($0) }
    let description = fields[.description].flatMap { text($0, "text") }
    let message = message(fields, isDenial: isDenial)
    guard let pattern, let methods else { return nil }
    let rule = Rule(
      pattern: pattern, methods: methods, action: isDenial ? .deny : .forward(credential ?? serviceCredential),
      headers: headers, description: description, line: node.location.line, rate: rate ?? .inherited, isExact: isExact,
      message: message)
    return (rule, fields)
  }

  private func pattern(_ fields: Fields<RuleKey>) -> URLPattern? {
    required(.match, of: fields, "the rule has no \"match\"", help: "add match: \"/**\"")
      .flatMap { parsed($0, "a pattern like /repos/**", URLPattern.init(parsing:)) }
  }

  /// Reports the pattern `*` where the user probably means `/*`.
  func checkAsterisks(_ rules: [ReadRule], at mount: Mount) {
    // `*` matches only the request `OPTIONS *`.
    for (rule, fields) in rules where rule.pattern.isAsterisk {
      if case .path(let path) = mount, path.count > 1 {
        report.error(
          fields.valueLocation(of: .match),
          "\"*\" matches only the request OPTIONS *, and a service under a path never gets that request",
          help:
            "write /* for paths of one segment, or /** for every path. To get OPTIONS *, write at: / in the service")
      } else if !rule.methods.names.isEmpty, rule.methods.names != ["OPTIONS"] {
        report.error(
          fields.valueLocation(of: .match),
          "\"*\" matches only the request OPTIONS *, but this rule names other methods",
          help: "write methods: [OPTIONS], or write /* for paths of one segment, or /** for every path")
      } else if rule.methods.names.isEmpty {
        report.advice(
          fields.valueLocation(of: .match), "\"*\" matches only the request OPTIONS *, and no path",
          help:
            "write /* for paths of one segment, or /** for every path. If you mean OPTIONS *, add methods: [OPTIONS]")
      }
    }
  }

  private func methods(_ fields: Fields<RuleKey>) -> MethodSet? {
    guard let node = fields[.methods] else { return .every }
    guard let nodes = filledList(node, of: "methods") else { return nil }
    guard nodes.count <= Self.maxMethods else {
      return report.error(
        node.location, "the rule has more than \(Self.maxMethods) methods",
        help: "delete the line: the rule then covers every method")
    }
    let names = distinct(nodes) { method($0) }.map(\.value)
    guard names.count == nodes.count else { return nil }
    return parsed(names, at: node.location, MethodSet.init)
  }

  private static let maxMethods = 64

  private func method(_ node: YAMLNode) -> String? {
    guard let name = text(node, "a method like GET") else { return nil }
    if name.utf8.contains(where: { $0 >= 0x61 && $0 <= 0x7A }) {
      let upper = String(decoding: name.utf8.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }, as: UTF8.self)
      return report.error(
        node.location, "the method \(quoted(name)) is not in capital letters",
        help: FieldRules.isToken(upper) ? "write \(upper)" : nil)
    }
    return parsed([name], at: node.location, MethodSet.init).map { _ in name }
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

  private static let maxMessage = 300

  /// Reads the text for a refused program.
  private func message(_ fields: Fields<RuleKey>, isDenial: Bool) -> String? {
    guard let node = fields[.message] else { return nil }
    guard isDenial else {
      return report.error(
        fields.location(of: .message),
        "\"message\" is allowed only with deny: true, because it explains why the request was refused",
        help: "delete the line, or write \"description\" for a text that only bearerctl explain shows")
    }
    guard let message = text(node, "a text for the program") else { return nil }
    let length = message.unicodeScalars.count
    guard length <= Self.maxMessage else {
      return report.error(
        node.location, "the message has \(length) characters: at most \(Self.maxMessage) are allowed",
        help: "shorten the text")
    }
    // `text` has refused control characters.
    let hasInvisible = message.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      case .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
      default: false
      }
    }
    guard !hasInvisible else {
      return report.error(
        node.location, "the message has a character that is not printable", help: "delete it, or type the text again")
    }
    return message
  }

  private func denies(_ fields: Fields<RuleKey>) -> Bool {
    guard let denies = boolean(.deny, of: fields) else { return false }
    guard denies else {
      report.error(fields.valueLocation(of: .deny), "\"deny\" can only be true", help: "delete the line")
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
